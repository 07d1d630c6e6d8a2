// What the ranks of one GPU do in its memory, by the plans that they run (collectives/executors/stream/plan.hpp): a message is a copy from
// the other rank's memory; a sum reads it where it lies, and goes to a second message of the rank where the step also sends what it is
// added to.
#pragma once

#include "collectives/schedule/schedule.hpp"
#include "kernels/base/units.hpp"

namespace weft {

struct GpuMemory {
  // That a rank reads and writes in a step, at most: a copy moves its bytes twice, a sum three times.
  Bytes of_step;
  // What all sums of the schedule move, over three times their bytes: several to one place are one pass over all of them.
  double of_sums = 1;
  // What is in the second message at the end, of the rank with the most, and is copied to where the result belongs.
  Bytes homecoming = {};
};

// `message`: of one rank. Goes through all transfers.
GpuMemory gpu_memory(const Schedule& schedule, Bytes message);

}  // namespace weft
