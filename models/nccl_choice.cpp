#include "models/nccl_expectation.hpp"
#include "models/nccl_table.hpp"

#include <algorithm>
#include <bit>

namespace weft {
namespace {

using namespace nccl;

// What a rank of an all-to-all has for each other goes with LL up to so many bytes (NCCL_P2P_LL_THRESHOLD), never with LL128, and between
// servers always with Simple: LL has no buffers there (NCCL_ALLOC_P2P_NET_LL_BUFFERS). No estimate is asked (addP2pToPlan in enqueue.cc).
constexpr Bytes max_of_ll_to_peer = 16_KiB;

// The table's hops between servers are of InfiniBand, from GPU to GPU some 2 us. Of a longer way Simple waits twice: for the data, and
// until what was written to the GPU is flushed (latencyInter).
constexpr SimTime way_in_table = 2_us;

// CollNet's way is up to the switches and down again.
SimTime longer_hop(const NcclQuestion& q, NcclAlgorithm pattern, NcclProtocol protocol) {
  if (q.servers == 1 || q.way <= way_in_table) return {};
  if (sharp_adds({.pattern = pattern, .between_servers = true})) return q.way - way_in_table;
  return (protocol == NcclProtocol::simple ? 2 : 1) * (q.way - way_in_table);
}

// Trees are slower than the model at middle sizes: the factor of their rate, from 64 B on, by powers of two. NCCL corrects its
// expectations so; of ten systems of several servers that are not in this repository seven are predicted better with it (median of all
// sizes), three as well.
constexpr std::array<std::array<double, 23>, 3> tree_correction = {
    {{1.0, 1.0, 1.0, 1.0, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1.0, 1.0, 1.0, 1.0},
     {1.0, 1.0, 1.0, 1.0, 1.0, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1.0, 1.0},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}}};

double correction_at(NcclProtocol protocol, int power) {
  const auto& by_size = tree_correction[index_of(protocol)];
  return power >= 0 && power < static_cast<int>(by_size.size()) ? by_size[static_cast<std::size_t>(power)] : 1;
}

constexpr double min_bias = 1e-3;

NcclProtocol protocol_to_peers(const NcclQuestion& q, Bytes size) {
  return q.servers == 1 && size <= q.ranks * max_of_ll_to_peer ? NcclProtocol::ll : NcclProtocol::simple;
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
  constexpr int too_few = 2, max_of_collnet = 8;  // GPUs of a server, unless it is told to
  if (nvswitches_add(regime)) return q.switch_adds && regime.gpus > too_few && (q.servers == 1 || q.nics > 1);
  return regime.gpus <= max_of_collnet && (regime.pattern == NcclAlgorithm::collnet_chain || q.nvlinks_join_all);
}

double of_rate(NcclAlgorithm pattern, NcclProtocol protocol, Bytes size) {
  const auto power = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size.count >> 6))) - 1;
  return pattern == NcclAlgorithm::tree ? correction_at(protocol, power) : 1;
}

// That of LL128 is of calls between servers: whether it may be used there NCCL tells from how the NICs hang on the GPUs.
double bias_of_protocol(const HardwareProfile& profile, const Regime& regime) {
  if (regime.protocol == NcclProtocol::ll) return profile.ll_bias;
  return regime.protocol == NcclProtocol::ll128 && regime.between_servers ? profile.ll128_bias : 1;
}

bool counts_for(BiasesOf calls, const Regime& regime) {
  return calls == BiasesOf::all_calls || (calls == BiasesOf::calls_between_servers) == regime.between_servers;
}

double bias_of(const HardwareProfile& profile, const Regime& regime) {
  if (!counts_for(profile.biases_of, regime)) return 1;
  double bias = std::max(bias_of_protocol(profile, regime), min_bias);
  if (regime.pattern == NcclAlgorithm::tree) bias *= std::max(profile.tree_bias, min_bias);
  if (nvswitches_add(regime)) bias *= std::max(profile.nvls_bias, min_bias);
  return bias;
}

Regime expected_to_be_best(const HardwareProfile& profile, const NcclQuestion& q, Bytes size) {
  Regime best;
  double least = 0;
  for (const Regime& regime : nccl_regimes(q, size)) {
    const double estimate = expected_time(q, regime, size).microseconds() / bias_of(profile, regime);
    if (best.protocol == NcclProtocol::automatic || estimate < least) best = regime, least = estimate;
  }
  return best;
}

}  // namespace

double nccl::rate_of_tree(NcclProtocol protocol, Bytes size) {
  const double at = std::log2(std::max(1.0, static_cast<double>(size.count) / 64)), power = std::floor(at);
  const auto below = static_cast<int>(power);
  return std::lerp(correction_at(protocol, below), correction_at(protocol, below + 1), at - power);
}

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

Regime nccl_choice(const HardwareProfile& profile, const NcclQuestion& q, Bytes size) {
  return as_run(profile, q, expected_to_be_best(profile, q, size), size);
}

bool lacks_protocol(const HardwareProfile& profile, const Regime& regime) {
  return counts_for(profile.biases_of, regime) && bias_of_protocol(profile, regime) <= bias_of_none;
}

NcclRegret nccl_regret(const HardwareProfile& profile, const NcclQuestion& q, Bytes size) {
  NcclRegret out{.chosen = expected_to_be_best(profile, q, size)};
  out.best = out.chosen;
  const auto expected = [&](const Regime& regime) {
    Regime known = as_run(profile, q, regime, size);
    known.longer = longer_hop(q, regime.pattern, regime.protocol);  // but for what NCCL does not know of LL
    return (profile.call_overhead + nccl_estimate(profile, q, known, size)).microseconds();
  };
  double least = expected(out.chosen);
  const double taken = least;
  for (const Regime& regime : nccl_regimes(q, size)) {
    if (lacks_protocol(profile, regime)) continue;
    const SimTime at_least = expected_time(q, regime, size);
    const double us = std::max(expected(regime), (profile.call_overhead + at_least).microseconds());
    if (us < least) least = us, out.best = regime;
  }
  if (least > 0) out.log_ratio = std::log(taken / least);
  return out;
}

}  // namespace weft
