#include "models/nccl_tuning.hpp"

#include "models/nccl_expectation.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace weft {
namespace {

using OfProtocol = std::array<double, 3>;  // LL, LL128, Simple

struct Table {
  OfProtocol base, nvlink, pcie, network;  // microseconds
};
constexpr Table tree = {{6.8, 14.0, 8.4}, {0.6, 1.25, 4.0}, {1.0, 1.9, 4.0}, {5.0, 8.5, 14.0}};
constexpr Table ring = {{6.6, 14.0, 8.4}, {0.6, 1.9, 3.4}, {1.0, 2.5, 5.7}, {2.7, 4.0, 14.0}};
constexpr Table collnet_direct = {{0, 0, 0}, {0, 0, 3.7}, {0, 0, 3.7}, {0, 0, 31}};
constexpr Table collnet_chain = {{0, 0, 0}, {0, 0, 2.8}, {0, 0, 2.8}, {0, 0, 30}};
constexpr double nvls_us = 25;  // to the switch and back: half of it is a hop
constexpr double nvls_network_us = 18;

// With CollNet direct a head gets from, and sends to, one other GPU of its server after the other.
constexpr double arity_us = 0.4;
// The part of a rate that CollNet direct gets.
constexpr double direct_efficiency = 0.85;

// Between servers a ring's ranks each launch as many network operations as it has steps: hops inside take at least so long, and three
// times as long with Simple (Intel; AMD twice of it).
constexpr double network_launch_us = 1.0;

// In an all-to-all the proxy thread of a GPU posts the receive and the send of each rank on other servers, and asks after them, one behind
// the other. Of few bytes to 8 ranks each it takes 59 us on two DGX A100 with InfiniBand, some 40 more than its hops; with libfabric on
// Slingshot 57 to 4 and 283 to 28, with TCP 75 and 440 (argonne-lcf/alcf-nccl-tests 385be33, Sophia and Polaris): 9.4 and 15 us for each.
constexpr double peer_us = 5.0;

// What a rank of an all-to-all has for each other goes with LL up to so many bytes (NCCL_P2P_LL_THRESHOLD), never with LL128, and between
// servers always with Simple: LL has no buffers there (NCCL_ALLOC_P2P_NET_LL_BUFFERS). No estimate is asked (addP2pToPlan in enqueue.cc).
constexpr Bytes most_of_ll_to_peer = 16_KiB;

// LL cuts no less from a message for each rank (96 threads of 8 bytes; before 2.20). One such chunk goes round the ring by itself: no rank
// has another to send, and nobody waits for a launch. 256 B on 4 and 16 servers take what the table has without it, 8 times as much takes
// 40 to 50 % longer, on trees 10 % (validation/data/pico_mn5_h100_nccl).
constexpr Bytes least_chunk_of_ll = 768_B;

// Rings between servers take so many times their latency with Simple, where they carry more than a few bytes (since Ampere; before 1.9).
constexpr double ring_plateau = 1.4;

// The table's hops between servers are of InfiniBand, from GPU to GPU some 2 us. Of a longer way Simple waits twice: for the data, and
// until what was written to the GPU is flushed (latencyInter).
constexpr SimTime way_in_table = 2_us;

// CollNet's way is up to the switches and down again.
SimTime longer_hop(const NcclQuestion& q, NcclAlgorithm pattern, NcclProtocol protocol) {
  if (q.servers == 1 || q.way <= way_in_table) return {};
  if (sharp_adds({.pattern = pattern, .between_servers = true})) return q.way - way_in_table;
  return (protocol == NcclProtocol::simple ? 2 : 1) * (q.way - way_in_table);
}

// Threads of a channel, and bytes for each of them before NCCL takes another channel.
struct Work {
  int threads, bytes_each;
};
constexpr std::array<Work, 3> work_of_channel = {{{512, 8}, {640, 8}, {512, 64}}};  // LL, LL128, Simple
constexpr Work work_of_collnet = {640, 512};

// LL gets this part of a ring's rate in a tree, where the ring gets profile.ll_efficiency of 1/4.
constexpr double tree_ll = 4.0 / 3.8;

// Trees are slower than the model at middle sizes: the factor of their rate, from 64 B on, by powers of two. NCCL corrects its
// expectations so; of ten systems of several servers that are not in this repository seven are predicted better with it (median of all
// sizes), three as well.
constexpr std::array<std::array<double, 23>, 3> tree_correction = {
    {{1.0, 1.0, 1.0, 1.0, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1.0, 1.0, 1.0, 1.0},
     {1.0, 1.0, 1.0, 1.0, 1.0, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1.0, 1.0},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}}};

constexpr double least_bias = 1e-3;

SimTime microseconds(double us) { return {std::llround(us * 1e6)}; }

std::size_t index_of(NcclProtocol protocol) { return static_cast<std::size_t>(protocol) - 1; }

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

const Table& table_of(const Regime& regime) {
  switch (regime.pattern) {
    case NcclAlgorithm::tree:
      return tree;
    case NcclAlgorithm::collnet_direct:
      return collnet_direct;
    case NcclAlgorithm::collnet_chain:
      return collnet_chain;
    default:
      return ring;
  }
}

// Of a hop between servers.
double network_us(const Regime& regime) {
  if (nvswitches_add(regime)) return sharp_adds(regime) ? nvls_network_us / 2 : nvls_tree_hop_us;
  const Table& table = regime.gpus == 1 ? tree : table_of(regime);  // nothing hides it from an only GPU
  const double us = table.network[index_of(latencies_of(regime))];
  return sharp_adds(regime) ? us / 2 : us;  // up to the switches and down again
}

// An NVSwitch by itself.
bool is_one_nvswitch(const Regime& regime) { return regime.pattern == NcclAlgorithm::nvls && !regime.between_servers; }

// What hops of rings inside servers take at least.
double launch_us(const HardwareProfile& profile, const Regime& regime) {
  if (regime.pattern != NcclAlgorithm::ring || !regime.between_servers || regime.one_chunk) return 0;
  return profile.nccl_launch * network_launch_us * (latencies_of(regime) == NcclProtocol::simple ? 3 : 1);
}

bool is_chain(Collective collective) { return collective == Collective::broadcast || collective == Collective::reduce; }

}  // namespace

bool nvswitches_add(const Regime& regime) { return regime.pattern == NcclAlgorithm::nvls || regime.pattern == NcclAlgorithm::nvls_tree; }

bool sharp_adds(const Regime& regime) {
  return regime.pattern == NcclAlgorithm::collnet_direct || regime.pattern == NcclAlgorithm::collnet_chain ||
         (regime.pattern == NcclAlgorithm::nvls && regime.between_servers);
}

NcclFactors nccl_factors(const HardwareProfile& profile, const Regime& regime) {
  if (is_one_nvswitch(regime)) return {profile.simple_hops, profile.network_hops, profile.nvls_efficiency};
  double efficiency = efficiency_of(profile, regime.protocol);
  if (regime.pattern == NcclAlgorithm::tree) efficiency *= profile.tree_efficiency * (regime.protocol == NcclProtocol::ll ? tree_ll : 1.0);
  if (regime.pattern == NcclAlgorithm::collnet_direct) efficiency *= direct_efficiency;
  const double hops = hops_factor(profile, latencies_of(regime));
  const double inside = (regime.nvlink ? table_of(regime).nvlink : table_of(regime).pcie)[index_of(latencies_of(regime))];
  const double launched = std::max(hops, launch_us(profile, regime) / inside);
  double network = launched > 0 ? profile.network_hops * hops / launched : profile.network_hops;
  if (launched > 0) network += regime.handshakes * profile.rendezvous.microseconds() / (launched * network_us(regime));
  return {launched, network, efficiency};
}

HardwareProfile with_nccl_factors(HardwareProfile profile, const Regime& regime, const NcclFactors& factors) {
  hops_factor(profile, latencies_of(regime)) = factors.hops;
  profile.network_hops = factors.network;
  profile.nccl_launch = 0;
  profile.rendezvous = {};
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
  const SimTime handshake{regime.handshakes * profile.rendezvous.ps};
  if (nvswitches_add(regime)) {
    const SimTime hop = microseconds(hops * nvls_us / 2);
    // A profile says what NVLS gives by itself. Between servers, where the network is mostly the slower one, it is what is published.
    static const double published = HardwareProfile{}.nvls_efficiency;
    const double beside_network = is_one_nvswitch(regime) ? 1 : published;
    return {.base = microseconds(regime.fill.microseconds() / (efficiency * profile.message_efficiency)),
            .nvlink = hop,
            .pcie = hop,
            .network = microseconds(hops * profile.network_hops * network_us(regime)) + handshake + regime.longer,
            .efficiency = regime.of_rate * efficiency,
            .nvlink_gain = nvls_gain(std::max(2, regime.gpus)) * beside_network};
  }
  const Table& table = table_of(regime);
  const std::size_t i = index_of(latencies_of(regime));
  const double launch = launch_us(profile, regime);
  const double serial = regime.pattern == NcclAlgorithm::collnet_direct ? hops * arity_us * (regime.gpus - 1) : 0;
  const SimTime of_channels{(regime.channels - 1) * profile.nccl_channel.ps};
  return {.base = microseconds(profile.nccl_base * table.base[i] + profile.nccl_peer * peer_us * regime.remote_peers) + of_channels,
          .sending = regime.sending,
          .nvlink = microseconds(std::max(launch, hops * table.nvlink[i]) + serial),
          .pcie = microseconds(std::max(launch, hops * table.pcie[i]) + serial),
          .network = microseconds(hops * profile.network_hops * network_us(regime)) + handshake + regime.longer,
          .efficiency = regime.of_rate * efficiency / staged_turns(regime.staged_sends)};
}

double staged_turns(int sends) { return sends == 0 ? 1 : (2 * one_way + sends - 1) / sends; }

int nccl_channels(const Regime& regime, int ranks, Bytes size) {
  const Work& work = regime.pattern == NcclAlgorithm::collnet_chain ? work_of_collnet : work_of_channel[index_of(regime.protocol)];
  const bool by_rank = regime.protocol == NcclProtocol::ll && regime.pattern == NcclAlgorithm::ring;
  const std::int64_t each = std::int64_t{work.threads} * work.bytes_each * (by_rank ? ranks : 1);
  return static_cast<int>(std::clamp<std::int64_t>(size.count / each, 1, INT32_MAX));
}

namespace {

struct ChainTurns {
  double count = 0;
  double bytes = 0;  // of each
};

// The threads of a channel halve as long as each would have less than eight bytes for each rank, but stay two warps (getAlgoInfo). All of
// them together read, and pass on, eight bytes each at a time, with the flags beside them.
ChainTurns turns_of_ll(const NcclQuestion& q, Bytes size) {
  const auto& [most_threads, bytes_each] = work_of_channel[index_of(NcclProtocol::ll)];
  constexpr int least_threads = 64, most_channels = 16;
  const int wanted = nccl_channels({.protocol = NcclProtocol::ll, .pattern = NcclAlgorithm::ring}, q.ranks, size);
  const int channels = std::min(most_channels, wanted);
  std::int64_t threads = most_threads;
  while (channels == 1 && threads > least_threads && size.count < threads * bytes_each * q.ranks) threads /= 2;
  const auto bytes = static_cast<double>(threads * bytes_each);
  return {.count = static_cast<double>(size.count) / channels / bytes, .bytes = bytes};
}

}  // namespace

int ll_chain_turns(const NcclQuestion& q, Bytes size) {
  return static_cast<int>(std::clamp(std::ceil(turns_of_ll(q, size).count), 1.0, 1e9));
}

SimTime ll_chain_sending(const NcclQuestion& q, Bytes size, int messages) {
  // Of broadcasts of 4 to 512 KiB behind one another 64 to 512 threads took 1.0 to 1.6 us each time on V100 and 0.5 to 1.1 on A100, on 4 to
  // 32 and 16 servers alike (validation/data/abci2_nccl).
  const double turn_us = generation_of(q) == GpuGeneration::volta ? 0.95 : 0.43;
  constexpr double us_a_byte = 0.17e-3;
  const ChainTurns turns = turns_of_ll(q, size);
  return microseconds(std::max(turns.count - 1, 0.0) / messages * (turn_us + us_a_byte * turns.bytes));  // a hop has the first
}

namespace {

// Seconds of a byte of the message on the slowest links, where `share_*` of it cross each link, were they wholly used.
double seconds_a_byte(const HardwareProfile& profile, const NcclQuestion& q, double share_inside, double share_outside) {
  const auto on = [](double share, double efficiency, BitsPerSecond rate) {
    return rate.count > 0 ? share * 8 / (efficiency * static_cast<double>(rate.count)) : 0.0;
  };
  return std::max(on(share_inside, 1, q.inside), on(share_outside, profile.wire_efficiency, q.outside));
}

// Of a message that NVSwitches add.
double inside_added(const NcclQuestion& q, const NcclCosts& costs) {
  const double gpus = q.ranks / q.servers;
  return 2.0 * (gpus - 1) / gpus / costs.nvlink_gain;
}
double outside_added(const NcclQuestion& q) { return q.servers == 2 ? 1 : 2; }

// NCCL counts a single hop of a broadcast or a reduce where its channels go the same way through all GPUs, as they do from a server's only
// NIC, and else one between servers for each rank, each as long as a tree's with Simple, for what a chunk takes (ncclTopoTuneModel).
double expected_chain_us(const NcclQuestion& q, const Regime& regime, const NcclCosts& costs) {
  if (q.servers == 1) return (q.nvlink ? costs.nvlink : costs.pcie).microseconds();
  if (q.nics == 1) return costs.network.microseconds();
  const std::size_t i = index_of(regime.protocol);
  return q.ranks * (regime.protocol == NcclProtocol::simple ? tree : ring).network[i];
}

// How many times as long CollNet direct takes where not every GPU has a NIC of its own.
double without_own_nics(const NcclQuestion& q) { return (1 + static_cast<double>(q.ranks) / q.servers / q.nics) / 2; }

}  // namespace

SimTime nccl_estimate(const HardwareProfile& profile, const NcclQuestion& q, const Regime& regime, Bytes size) {
  const NcclCosts costs = nccl_costs(profile, regime);
  const int rounds = q.collective == Collective::allreduce ? 2 : 1;
  const bool is_tree = regime.pattern == NcclAlgorithm::tree;
  const SimTime inside = q.nvlink ? costs.nvlink : costs.pcie;
  double inner = 0, outer = 0;                 // hops
  double share_inside = 0, share_outside = 0;  // of the message, that cross a link
  if (is_tree) {
    inner = 2.0 * (q.ranks / q.servers - 1);
    outer = 2.0 * (std::bit_width(static_cast<unsigned>(q.servers)) - 1);
    share_inside = 2, share_outside = q.servers == 2 ? 1 : 2;
  } else if (sharp_adds(regime)) {
    const double gpus = q.ranks / q.servers;
    const bool is_chain_inside = regime.pattern == NcclAlgorithm::collnet_chain;
    inner = 2 * (is_chain_inside ? gpus - 1 : std::min(1.0, gpus - 1));
    outer = 2;
    share_inside = is_chain_inside ? 2 : 2 * (gpus - 1) / gpus;
    share_outside = 1;
    if (nvswitches_add(regime)) share_inside = inside_added(q, costs), share_outside = 2 * (q.ranks - 1.0) / q.ranks;  // as NCCL expects
    if (regime.pattern == NcclAlgorithm::collnet_direct) share_inside *= without_own_nics(q), share_outside *= without_own_nics(q);
  } else if (nvswitches_add(regime)) {
    inner = 2;
    outer = 2.0 * (std::bit_width(static_cast<unsigned>(q.servers)) - 1);
    share_inside = inside_added(q, costs), share_outside = outside_added(q);
  } else if (q.collective == Collective::alltoall) {  // every pair at once
    (q.servers > 1 ? outer : inner) = 1;
    const double others = q.ranks - 1.0, of_server = q.ranks / q.servers;
    share_inside = others / q.ranks, share_outside = of_server * (q.ranks - of_server) / q.ranks;
  } else {
    outer = rounds * (q.servers - 1.0);
    inner = rounds * (q.ranks - 1.0) - outer;
    share_inside = share_outside = is_chain(q.collective) ? 1.0 : rounds * (q.ranks - 1.0) / q.ranks;
  }
  double a_byte = seconds_a_byte(profile, q, share_inside, share_outside);
  a_byte /= costs.efficiency * profile.message_efficiency;
  if (regime.pattern == NcclAlgorithm::collnet_direct && !q.switch_adds) a_byte *= direct_efficiency;  // NCCL expects it from Hopper on
  double latency = costs.base.microseconds() + inner * inside.microseconds() + outer * costs.network.microseconds();
  if (q.as_expected && is_chain(q.collective)) latency = costs.base.microseconds() + expected_chain_us(q, regime, costs);
  if (outer > 0 && regime.pattern == NcclAlgorithm::ring && regime.protocol == NcclProtocol::simple && rounds == 2) latency *= ring_plateau;
  const double us = latency + 1e6 * a_byte * static_cast<double>(size.count);
  return microseconds(std::min(us, 1e12));
}

namespace {

NcclProtocol protocol_to_peers(const NcclQuestion& q, Bytes size) {
  return q.servers == 1 && size <= q.ranks * most_of_ll_to_peer ? NcclProtocol::ll : NcclProtocol::simple;
}

bool is_possible(const NcclQuestion& q, const Regime& regime, Bytes size) {
  if (q.algorithm != NcclAlgorithm::automatic && q.algorithm != regime.pattern) return false;
  if (q.protocol != NcclProtocol::automatic && q.protocol != regime.protocol) return false;
  if (q.protocol == NcclProtocol::automatic) {
    if (q.collective == Collective::alltoall && regime.protocol != protocol_to_peers(q, size)) return false;
    if (regime.protocol == NcclProtocol::ll128 && !(q.nvlink && q.ll128)) return false;
  }
  if (regime.pattern == NcclAlgorithm::ring) return true;
  if (q.collective != Collective::allreduce) return false;
  if (regime.pattern == NcclAlgorithm::tree) return true;
  if (regime.protocol != NcclProtocol::simple || (sharp_adds(regime) && !q.sharp)) return false;
  if (q.servers == 1 && regime.pattern != NcclAlgorithm::nvls) return false;
  if (q.algorithm == regime.pattern) return true;
  constexpr int too_few = 2, most_of_collnet = 8;  // GPUs of a server, unless it is told to
  if (nvswitches_add(regime)) return q.switch_adds && regime.gpus > too_few;
  return regime.gpus <= most_of_collnet && (regime.pattern == NcclAlgorithm::collnet_chain || q.nvlinks_join_all);
}

double of_rate(NcclAlgorithm pattern, NcclProtocol protocol, Bytes size) {
  const auto log_size = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(size.count >> 6)));
  const auto& by_size = tree_correction[index_of(protocol)];
  return pattern == NcclAlgorithm::tree && log_size > 0 && log_size <= by_size.size() ? by_size[log_size - 1] : 1;
}

}  // namespace

std::vector<Regime> nccl_regimes(const NcclQuestion& q, Bytes size) {
  std::vector<Regime> out;
  for (const NcclAlgorithm pattern : {NcclAlgorithm::ring, NcclAlgorithm::tree, NcclAlgorithm::nvls, NcclAlgorithm::nvls_tree,
                                      NcclAlgorithm::collnet_direct, NcclAlgorithm::collnet_chain})
    for (const NcclProtocol protocol : {NcclProtocol::ll, NcclProtocol::ll128, NcclProtocol::simple}) {
      const Regime regime{.protocol = protocol,
                          .pattern = pattern,
                          .between_servers = q.servers > 1,
                          .longer = longer_hop(q, pattern, protocol),
                          .gpus = q.ranks / q.servers,
                          .nvlink = q.nvlink,
                          .of_rate = of_rate(pattern, protocol, size)};
      if (is_possible(q, regime, size)) out.push_back(regime);
    }
  return out;
}

namespace {

double bias_of(const HardwareProfile& profile, const Regime& regime) {
  double bias = 1;
  if (regime.protocol == NcclProtocol::ll) bias *= std::max(profile.ll_bias, least_bias);
  if (regime.protocol == NcclProtocol::ll128) bias *= std::max(profile.ll128_bias, least_bias);
  if (regime.pattern == NcclAlgorithm::tree) bias *= std::max(profile.tree_bias, least_bias);
  if (nvswitches_add(regime)) bias *= std::max(profile.nvls_bias, least_bias);
  return bias;
}

// NVLS moves a chunk of each channel for each GPU of a server at once: into its buffer, through the NVSwitch that adds (up and down the
// tree of servers, or through the switches that aggregate, in between) and out of the buffer. Threads of their own do each stage, and the
// message takes what a chunk takes in all of them but the slowest, besides its own time on that. In a server each stage takes about as long
// as the NVLinks are used by all of them together: 2 to 256 MiB take 10 to 60 us longer than their bytes on 8 H100 (Azure ND H100 v5,
// xxrjun), and 12 to 70 are so explained. Up and down a level of the tree a chunk crosses the NICs as the whole message does.
// (NCCL 2.28: calcCollChunking in src/enqueue.cc, src/transport/nvls.cc; all_reduce.h)
struct NvlsTurns {
  SimTime fill = {};   // of the first, in all stages but the slowest, at links wholly used
  double of_rate = 1;  // of all
};
NvlsTurns nvls_turns(const HardwareProfile& profile, const NcclQuestion& q, const Regime& regime, Bytes size) {
  constexpr int stages_inside = 3;
  const bool is_blackwell = generation_of(q) == GpuGeneration::blackwell, is_tree = regime.pattern == NcclAlgorithm::nvls_tree;
  const int channels = !is_blackwell ? 16 : q.servers == 1 ? 24 : 32;
  const auto turn_of = [&](Bytes chunk) { return std::int64_t{channels} * regime.gpus * chunk.count; };
  Bytes chunk = q.servers >= 4 && is_tree ? 64_KiB : 128_KiB;
  if (size.count < (is_tree ? 4 : 64) * turn_of(chunk)) chunk = 64_KiB;
  if (size.count < (is_tree ? 1 : 8) * turn_of(chunk)) chunk = 32_KiB;
  if (!is_tree && size.count < 2 * turn_of(chunk)) chunk = 16_KiB;
  const NcclCosts costs = nccl_costs(profile, regime);
  const double inside = seconds_a_byte(profile, q, inside_added(q, costs), 0);
  const double outside = seconds_a_byte(profile, q, 0, is_tree ? outside_added(q) : 1);
  const int levels = is_tree ? std::bit_width(static_cast<unsigned>(q.servers)) - 1 : 1;
  const double rest = stages_inside * inside + levels * outside - std::max(inside, outside);
  const auto turn = static_cast<double>(turn_of(chunk)), bytes = static_cast<double>(size.count);
  NvlsTurns out{.fill = microseconds(1e6 * rest * std::min(bytes, turn))};
  if (is_one_nvswitch(regime) && is_blackwell && bytes > turn) {
    // In one server of Blackwell the square of a turn's time is the sum of the squares of what its bytes take and of 14 us: of 16 to 64 KiB
    // a chunk 13.5, 16.5 and 14 us fitted on 8 B200 and B300 (Google A4 and a report of B300, 4 to 512 MiB).
    constexpr double turn_s = 14e-6;
    const double wire = inside * turn / costs.efficiency, turns = bytes / turn;
    out.of_rate = turns * wire / (wire + (turns - 1) * std::hypot(wire, turn_s));
  }
  return out;
}

// LL's messages between servers lie in host memory, where the processor looks at the flag of every eight bytes before it sends them, and
// the receiver's GPU again. NCCL expects no more than 45 GB/s of LL between two servers of Hopper whatever their NICs, and 22.5 of Ampere
// (llMaxBws), over 16 channels: what the threads of one channel do at once, 8 bytes each, takes 1.5 us or more for each hop. NCCL's
// latencies are of the first bytes. (Trees of 16 KiB take 1.2 to 1.3 us a hop longer than those of 256 B on 4 and on 16 servers of 4 H100,
// validation/data/pico_mn5_h100_nccl. Elsewhere, on two to 540 servers, all-reduces of 16 KiB take 1.2 to 2.1 times as long as those of
// 512 B: Nebius, Oracle, Sophia, AWS p5, Polaris, Sirius, Alps; not so on Lambda's B200 and on MI300X, nor within one server.)
SimTime ll_pass(const NcclQuestion& q, const Regime& regime, Bytes size) {
  constexpr double ns_a_byte = 16 / 45.0;
  const Work& work = work_of_channel[index_of(NcclProtocol::ll)];
  const double pass = work.threads * work.bytes_each;
  const double part = static_cast<double>(size.count) / (regime.pattern == NcclAlgorithm::ring ? q.ranks : 1);
  return microseconds(1e-3 * ns_a_byte * std::min(part, pass));
}

// How many channels a call takes: between servers twice those that the search finds there, in a server twice those that fill its NVLinks
// at 20 GB/s each, 12 on 8 V100 and 24 on 8 A100, whose calls take longer up to so many (validation/data/public_a100_nccl).
int channels_taken(const NcclQuestion& q, const Regime& regime, Bytes size) {
  constexpr double of_one = 20.0 * 8e9;
  constexpr int most_in_server = 24;
  const int in_server = q.nvlink ? std::clamp(2 * static_cast<int>(static_cast<double>(q.inside.count) / of_one), 2, most_in_server) : 2;
  const int found = q.servers > 1 ? std::max(2 * channels_found(q).count, 1) : in_server;
  return std::min(found, nccl_channels(regime, q.ranks, size));
}

// How many of the profile's rendezvous a hop between servers takes: none where the messages on the wire, of one channel and with their
// flags, are shorter, otherwise one. With LL a GPU's proxy thread makes them for one channel after the other, and each step of an
// all-reduce on a ring waits for it: on the Slingshot fabrics of Alps and Polaris a step takes 8 to 12 us where the messages of a channel
// are of 8 KiB on the wire, and 18 to 22 us where a NIC has two channels; a hop of a tree takes 6 to 8 us more than with shorter messages.
// All-gathers on rings do not wait so (boeschf/nccl-benchmark-on-alps-2025 897cff4, argonne-lcf/alcf-nccl-tests 385be33; two to eight
// servers).
int handshakes_of(const HardwareProfile& profile, const NcclQuestion& q, const Regime& regime, Bytes size) {
  constexpr std::array of_wire = {2.0, 16.0 / 15.0, 1.0};  // LL, LL128, Simple
  const bool is_ring = regime.pattern == NcclAlgorithm::ring, is_part = is_ring && !is_chain(q.collective);
  const int channels = channels_taken(q, regime, size);
  const double part = static_cast<double>(size.count) / (is_part ? q.ranks : 1) / channels;
  if (part * of_wire[index_of(regime.protocol)] < static_cast<double>(profile.rendezvous_threshold.count)) return 0;
  if (regime.protocol != NcclProtocol::ll) return 1;
  return (channels + q.nics - 1) / q.nics * (is_ring && q.collective == Collective::allreduce ? q.ranks / q.servers : 1);
}

// What NCCL expects of a channel at most holds for LL128, and for trees with Simple: on 4 to 16 servers of 8 B200 with 8 NICs of 400 Gb/s
// these come to 96 GB/s and on two to 173 (a report of DGX Cloud), where 8 channels make 96 and 171. Of 64 MiB LL128 gives two servers of 8
// A100 with NICs of 200 Gb/s 71 to 82 GB/s (Azure, Oracle, Sophia): a tree's channels make 80 and a ring's 85. LL has bounds of its own
// (ll_pass).
bool is_bound_by_channels(const Regime& regime) {
  if (!regime.between_servers || nvswitches_add(regime) || sharp_adds(regime)) return false;
  return regime.protocol == NcclProtocol::ll128 || (regime.protocol == NcclProtocol::simple && regime.pattern == NcclAlgorithm::tree);
}

// With what NCCL does not know when it chooses. No rank of a chain, or of an all-to-all, only sends at first and then only receives.
Regime as_run(const HardwareProfile& profile, const NcclQuestion& q, Regime regime, Bytes size) {
  if (nvswitches_add(regime)) {
    const NvlsTurns turns = nvls_turns(profile, q, regime, size);
    regime.fill = turns.fill;
    regime.of_rate = turns.of_rate;
  }
  if (regime.protocol == NcclProtocol::ll && q.servers > 1) regime.longer += ll_pass(q, regime, size);
  if (regime.pattern == NcclAlgorithm::ring && regime.protocol == NcclProtocol::ll && q.collective == Collective::allreduce)
    regime.one_chunk = size <= least_chunk_of_ll;
  if (is_bound_by_channels(regime)) regime.of_rate *= part_of_channels(q, regime);
  if (!nvswitches_add(regime) && !sharp_adds(regime) && q.collective != Collective::alltoall)
    regime.channels = channels_taken(q, regime, size);
  if (q.servers > 1) regime.handshakes = handshakes_of(profile, q, regime, size);
  if (q.servers > 1 && q.collective == Collective::alltoall) regime.remote_peers = q.ranks - q.ranks / q.servers;
  if (!q.staged || q.servers > 1 || regime.pattern != NcclAlgorithm::ring) return regime;
  if (is_chain(q.collective) || q.collective == Collective::alltoall) return regime;
  regime.staged_sends = (q.collective == Collective::allreduce ? 2 : 1) * (q.ranks - 1);
  return regime;
}

Regime expected_to_be_best(const HardwareProfile& profile, const NcclQuestion& q, Bytes size) {
  Regime best;
  double least = 0;
  for (const Regime& regime : nccl_regimes(q, size)) {
    const NcclExpectation expected = expected_by_nccl(q, regime);
    const double estimate = nccl_estimate(expected.profile, expected.question, regime, size).microseconds() / bias_of(profile, regime);
    if (best.protocol == NcclProtocol::automatic || estimate < least) best = regime, least = estimate;
  }
  return best;
}

}  // namespace

Regime nccl_choice(const HardwareProfile& profile, const NcclQuestion& q, Bytes size) {
  return as_run(profile, q, expected_to_be_best(profile, q, size), size);
}

double nccl_regret(const HardwareProfile& profile, const NcclQuestion& q, Bytes size) {
  const Regime chosen = expected_to_be_best(profile, q, size);
  const auto expected = [&](const Regime& regime) {
    Regime known = as_run(profile, q, regime, size);
    known.longer = longer_hop(q, regime.pattern, regime.protocol);  // but for what NCCL does not know of LL
    return (profile.call_overhead + nccl_estimate(profile, q, known, size)).microseconds();
  };
  double least = expected(chosen);
  const double taken = least;
  for (const Regime& regime : nccl_regimes(q, size)) {
    const NcclExpectation by_nccl = expected_by_nccl(q, regime);
    const SimTime at_least = nccl_estimate(by_nccl.profile, by_nccl.question, regime, size);
    least = std::min(least, std::max(expected(regime), (profile.call_overhead + at_least).microseconds()));
  }
  return least > 0 ? std::log(taken / least) : 0;
}

}  // namespace weft
