#include "models/nccl_expectation.hpp"
#include "models/nccl_table.hpp"

#include <algorithm>
#include <bit>

namespace weft {
namespace nccl {

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

}  // namespace nccl

namespace {

using namespace nccl;

// Rings between servers take so many times their latency with Simple, where they carry more than a few bytes (since Ampere; before 1.9).
constexpr double ring_plateau = 1.4;

constexpr Work work_of_collnet = {640, 512};

struct ChainTurns {
  double count = 0;
  double bytes = 0;  // of each
};

// The threads of a channel halve as long as each would have less than eight bytes for each rank, but stay two warps (getAlgoInfo). All of
// them together read, and pass on, eight bytes each at a time, with the flags beside them.
ChainTurns turns_of_ll(const NcclQuestion& q, Bytes size) {
  const auto& [max_threads, bytes_each] = work_of_channel[index_of(NcclProtocol::ll)];
  constexpr int min_threads = 64;
  const int channels = channels_taken(q, {.protocol = NcclProtocol::ll, .pattern = NcclAlgorithm::ring}, size);
  std::int64_t threads = max_threads;
  while (channels == 1 && threads > min_threads && size.count < threads * bytes_each * q.ranks) threads /= 2;
  const auto bytes = static_cast<double>(threads * bytes_each);
  return {.count = static_cast<double>(size.count) / channels / bytes, .bytes = bytes};
}

// How many times as long CollNet direct takes where not every GPU has a NIC of its own.
double without_own_nics(const NcclQuestion& q) { return (1 + static_cast<double>(q.ranks) / q.servers / q.nics) / 2; }

}  // namespace

int nccl_channels(const Regime& regime, int ranks, Bytes size) {
  const Work& work = regime.pattern == NcclAlgorithm::collnet_chain ? work_of_collnet : work_of_channel[index_of(regime.protocol)];
  const bool by_rank = regime.protocol == NcclProtocol::ll && regime.pattern == NcclAlgorithm::ring;
  const std::int64_t each = std::int64_t{work.threads} * work.bytes_each * (by_rank ? ranks : 1);
  return static_cast<int>(std::clamp<std::int64_t>(size.count / each, 1, INT32_MAX));
}

int ll_chain_turns(const NcclQuestion& q, Bytes size) {
  return static_cast<int>(std::clamp(std::ceil(turns_of_ll(q, size).count), 1.0, 1e9));
}

SimTime ll_chain_time(const NcclQuestion& q, Bytes size) {
  // Of broadcasts of 4 to 512 KiB behind one another 64 to 512 threads took 1.0 to 1.6 us each time on V100 and 0.5 to 1.1 on A100, on 4 to
  // 32 and 16 servers alike (validation/data/abci2_nccl).
  const double turn_us = generation_of(q) == GpuGeneration::volta ? 0.95 : 0.43;
  constexpr double us_a_byte = 0.17e-3;
  const ChainTurns turns = turns_of_ll(q, size);
  return microseconds(std::max(turns.count - 1, 0.0) * (turn_us + us_a_byte * turns.bytes));  // a hop has the first
}

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
    inner = q.ranks == 1 ? 0 : 2;  // whose hops are in the base
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
  if (outer > 0 && regime.pattern == NcclAlgorithm::ring && regime.protocol == NcclProtocol::simple && rounds == 2) latency *= ring_plateau;
  const double us = latency + regime.turns.microseconds() + 1e6 * a_byte * static_cast<double>(size.count);
  return microseconds(std::min(us, 1e12));
}

}  // namespace weft
