#include "models/nccl_table.hpp"

#include <algorithm>

namespace weft {
namespace {

using namespace nccl;

// Between servers a ring's ranks each launch as many network operations as it has steps: hops inside take at least so long, and three
// times as long with Simple (Intel; AMD twice of it).
constexpr double network_launch_us = 1.0;

// In an all-to-all the proxy thread of a GPU posts the receive and the send of each rank on other servers, and asks after them, one behind
// the other. Of few bytes to 8 ranks each it takes 59 us on two DGX A100 with InfiniBand, some 40 more than its hops; with libfabric on
// Slingshot 57 to 4 and 283 to 28, with TCP 75 and 440 (argonne-lcf/alcf-nccl-tests 385be33, Sophia and Polaris): 9.4 and 15 us for each.
constexpr double peer_us = 5.0;

// Within a server an all-to-all of few bytes takes longer than a ring's hop to the one other GPU: 0.4 to 1.9 us on seven kinds of servers
// of 8 GPUs, and 0.2 to 0.9 us more for each further one (A100, H100, H200, B200, B300, L40S, RTX PRO 6000 with NCCL 2.27 and 2.29;
// ai-dynamo/aiconfigurator). Between servers it is little beside peer_us.
constexpr double to_peers_us = 0.8, peer_inside_us = 0.3;

// LL gets this part of a ring's rate in a tree, where the ring gets profile.ll_efficiency of 1/4.
constexpr double tree_ll = 4.0 / 3.8;

// Whose latencies a call has: messages to ranks on other servers take no longer than with LL, for nobody waits for one before he sends
// another. Beside what it takes for each of 4, 8 and 28 of them (peer_us) an all-to-all of few bytes takes 20 us or less.
NcclProtocol latencies_of(const Regime& regime) { return regime.remote_peers > 0 ? NcclProtocol::ll : regime.protocol; }

template <class Profile>  // const or not
auto& hops_factor(Profile& p, NcclProtocol protocol) {
  if (protocol == NcclProtocol::ll) return p.ll_hops;
  return protocol == NcclProtocol::ll128 ? p.ll128_hops : p.simple_hops;
}

template <class Profile>
auto& efficiency_of(Profile& p, NcclProtocol protocol) {
  if (protocol == NcclProtocol::ll) return p.ll_efficiency;
  return protocol == NcclProtocol::ll128 ? p.ll128_efficiency : p.simple_efficiency;
}

// A link with writes of 256 bytes one way, each with 24 besides, or the answers to reads the other way, takes this part of the time that
// it takes with both, where the two requests of 24 bytes for every 256 share it with the writes (models/server/pcie.cpp).
constexpr double one_way = (256.0 + 24) / (256 + 24 + 2 * 24);

// Of a hop between servers.
double network_us(const Regime& regime) {
  if (nvswitches_add(regime)) return sharp_adds(regime) ? nvls_network_us / 2 : nvls_tree_hop_us;
  const Table& table = regime.gpus == 1 ? tree : table_of(regime.pattern);  // nothing hides it from an only GPU
  const double us = table.network[index_of(latencies_of(regime))];
  return sharp_adds(regime) ? us / 2 : us;  // up to the switches and down again
}

// What hops of rings inside servers take at least.
double launch_us(const HardwareProfile& profile, const Regime& regime) {
  if (regime.pattern != NcclAlgorithm::ring || !regime.between_servers || regime.one_chunk) return 0;
  return profile.nccl_launch * network_launch_us * (latencies_of(regime) == NcclProtocol::simple ? 3 : 1);
}

}  // namespace

bool nvswitches_add(const Regime& regime) { return regime.pattern == NcclAlgorithm::nvls || regime.pattern == NcclAlgorithm::nvls_tree; }

bool sharp_adds(const Regime& regime) {
  return regime.pattern == NcclAlgorithm::collnet_direct || regime.pattern == NcclAlgorithm::collnet_chain ||
         (regime.pattern == NcclAlgorithm::nvls && regime.between_servers);
}

bool only_nccl_has_latencies(const HardwareProfile& profile) {
  return std::ranges::all_of(std::array{profile.send_overhead, profile.receive_overhead, profile.nvlink_overhead, profile.pcie_overhead,
                                        profile.sockets_overhead, profile.rail_overhead, profile.network_overhead},
                             [](SimTime overhead) { return overhead == SimTime{}; });
}

NcclFactors nccl_factors(const HardwareProfile& profile, const Regime& regime) {
  if (is_one_nvswitch(regime)) return {profile.simple_hops, profile.network_hops, profile.nvls_efficiency};
  double efficiency = efficiency_of(profile, regime.protocol);
  if (regime.pattern == NcclAlgorithm::tree) efficiency *= profile.tree_efficiency * (regime.protocol == NcclProtocol::ll ? tree_ll : 1.0);
  if (regime.pattern == NcclAlgorithm::collnet_direct) efficiency *= direct_efficiency;
  const double hops = hops_factor(profile, latencies_of(regime));
  const double inside = (regime.nvlink ? table_of(regime.pattern).nvlink : table_of(regime.pattern).pcie)[index_of(latencies_of(regime))];
  const double launched = std::max(hops, launch_us(profile, regime) / inside);
  double network = launched > 0 ? profile.network_hops * hops / launched : profile.network_hops;
  const double besides_us = regime.handshakes * profile.rendezvous.microseconds() + profile.nccl_hop.microseconds();
  if (launched > 0) network += besides_us / (launched * network_us(regime));
  return {launched, network, efficiency};
}

HardwareProfile with_nccl_factors(HardwareProfile profile, const Regime& regime, const NcclFactors& factors) {
  hops_factor(profile, latencies_of(regime)) = factors.hops;
  profile.network_hops = factors.network;
  profile.nccl_launch = 0;
  profile.rendezvous = profile.nccl_hop = {};
  if (is_one_nvswitch(regime)) {
    profile.nvls_efficiency = factors.efficiency;
    return profile;
  }
  const double rest = nccl_factors(profile, regime).efficiency / efficiency_of(profile, regime.protocol);
  efficiency_of(profile, regime.protocol) = factors.efficiency / rest;
  return profile;
}

NcclCosts nccl_costs(const HardwareProfile& profile, const Regime& regime) {
  const double efficiency = std::min(1.0, nccl_factors(profile, regime).efficiency);
  const double hops = hops_factor(profile, latencies_of(regime));
  const SimTime of_hop = microseconds(regime.handshakes * profile.rendezvous.microseconds()) + profile.nccl_hop;
  const SimTime of_network = regime.between_servers ? profile.nccl_network : SimTime{};
  if (nvswitches_add(regime)) {
    const SimTime hop = microseconds(hops * nvls_us / 2);
    // Between servers an NVSwitch gives as much as by itself, beside what the network gives, which is mostly slower.
    const double beside_network = is_one_nvswitch(regime) ? 1 : profile.nvls_efficiency;
    const SimTime fill = microseconds(regime.fill.microseconds() / (efficiency * profile.message_efficiency));
    const bool is_alone = is_one_nvswitch(regime) && regime.gpus == 1;  // it sends nothing that could take the hops
    return {.base = (is_alone ? fill + hop + hop : fill) + of_network,
            .nvlink = hop,
            .pcie = hop,
            .network = microseconds(hops * profile.network_hops * network_us(regime)) + of_hop + regime.longer,
            .efficiency = regime.of_rate * efficiency,
            .nvlink_gain = nvls_gain(std::max(2, regime.gpus)) * beside_network};
  }
  const Table& table = table_of(regime.pattern);
  const std::size_t i = index_of(latencies_of(regime));
  const double launch = launch_us(profile, regime);
  const double serial = regime.pattern == NcclAlgorithm::collnet_direct ? hops * arity_us * (regime.gpus - 1) : 0;
  const SimTime of_channels{(regime.channels - 1) * profile.nccl_channel.ps};
  const SimTime of_simple = regime.protocol == NcclProtocol::simple ? profile.simple_base : SimTime{};
  const double to_peers = regime.local_peers > 0 ? to_peers_us + peer_inside_us * regime.local_peers : 0;
  const SimTime of_own = profile.nccl_own_rate.count > 0 ? regime.own / profile.nccl_own_rate : SimTime{};
  return {.base = microseconds(profile.nccl_base * table.base[i] + profile.nccl_peer * peer_us * regime.remote_peers + to_peers) +
                  of_channels + of_simple + of_own + of_network,
          .sending = regime.sending,
          .nvlink = microseconds(std::max(launch, hops * table.nvlink[i]) + serial) + regime.pass,
          .pcie = microseconds(std::max(launch, hops * table.pcie[i]) + serial),
          .network = microseconds(hops * profile.network_hops * network_us(regime)) + of_hop + regime.longer,
          .efficiency = regime.of_rate * efficiency / staged_turns(regime.staged_sends)};
}

double staged_turns(int sends) { return sends == 0 ? 1 : (2 * one_way + sends - 1) / sends; }

}  // namespace weft
