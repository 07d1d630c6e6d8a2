// A schedule for other programs than MSCCL.
#pragma once

#include "collectives/schedule/schedule.hpp"
#include "kernels/dtype.hpp"

#include <cstdint>
#include <string>

namespace weft {

struct GoalOptions {
  std::int64_t elements = 0;  // of the message
  DType dtype = DType::float32;
  double reduce_ns_per_byte = 0;  // what adding costs; 0: nothing
};

// GOAL, as LogGOPSim's txt2bin and ATLAHS read it: a rank goes on to a step when all that it does in the one before is done. Channels are
// the `cpu` of their operations. What is sent by one rank to another is told apart by tags.
std::string to_goal(const Schedule& schedule, const GoalOptions& options);

// Graphviz: a box for what each rank does in a step, an arrow for each transfer: solid where it adds.
std::string to_dot(const Schedule& schedule);

}  // namespace weft
