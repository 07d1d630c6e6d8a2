// The `simgrid` network: the blocking executor in SimGrid actors over SimGrid's own network model. The reference that our
// faster networks are held against.
#pragma once

#include "collectives/executors/blocking.hpp"
#include "models/fabric/fabric.hpp"
#include "models/fabric/routes.hpp"
#include "sim/executor/program_driver.hpp"
#include "sim/network/network_run.hpp"

#include <span>

namespace weft {

// Real data for a run: what each rank holds, and how it is reduced. Averages are left as sums.
struct RankMemory {
  std::span<const Buffer> buffers;  // by rank
  ReduceOp op = ReduceOp::sum;
};

// A type with elements of so many bytes: all that a run without data needs to know of its elements.
DType type_of_size(std::int64_t bytes);

// Runs a program once: an actor for each rank and channel of each call, and one for each computation. Once per process: call it
// through in_child(). Throws RunError, saying who waits for whom, when no progress is possible. `memory`: of a program of one call.
NetworkRun run_s4u(const PlacedProgram& program, Routes& routes, const RankMemory& memory = {});
NetworkRun run_s4u(const PlacedSchedule& job, Routes& routes, const RankMemory& memory = {});

}  // namespace weft
