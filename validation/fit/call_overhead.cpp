#include "validation/fit/call_overhead.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft {
namespace {

// One process launches the kernels of its GPUs one after the other, and calls back to back come no faster: those of few bytes took 35 us on
// 8 A100, 24.5 on 8 RTX 5090 beside a faster processor, 46 on 8 MI300X and 57 on 12 V100, whatever the collective; with a process for each
// of 8 A100 8 us (broadcast) to 17 (all-reduce). All-to-alls are a send and a receive for each other rank, and took 89 us on these 8 A100
// whatever their bytes up to 4 MiB (validation/data/public_a100_nccl).
double launches_of(const MeasuredSetup& e) {
  if (e.gpus_of_a_process <= 1) return 0;
  constexpr double of_a_peer = 0.22;
  return e.gpus_of_a_process * (e.collective == "alltoall" ? 1 + of_a_peer * (e.ranks - 1) : 1);
}

}  // namespace

bool overlaps(const MeasuredSetup& e) { return e.back_to_back > 1 && has_root(e.collective) && e.ranks > 2; }

// Of calls of NCCL that overlap only its table's base: a broadcast of few bytes takes 5 to 8 us behind another on 4 to 128 GPUs, as long as
// its kernel is there, whatever was done before it (validation/data/abci2_nccl).
double before_messages_us(const MeasuredSetup& e, const HardwareProfile& hardware, const Regime& regime) {
  SimTime overhead = hardware.in(regime).call_overhead;
  if (overlaps(e) && regime.protocol != NcclProtocol::automatic) {
    const SimTime before = hardware.call_overhead + (regime.between_servers ? hardware.nccl_network : SimTime{});
    overhead = SimTime{overhead.ps - std::llround(static_cast<double>(before.ps) * regime.cost)};
  }
  return overhead.microseconds();
}

double min_launched_us(const MeasuredSetup& e, const HardwareProfile& hardware) {
  return hardware.process_launch.microseconds() * launches_of(e);
}

double max_launch_us(const std::vector<const FitPoint*>& points) {
  double least = std::numeric_limits<double>::infinity();
  for (const FitPoint* p : points)
    if (const double launches = launches_of(p->setup); launches > 0) least = std::min(least, p->measured.time_us / launches);
  return least;
}

}  // namespace weft
