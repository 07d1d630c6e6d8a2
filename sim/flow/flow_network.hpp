// One schedule alone on the `flow` network: the fluid model driven by the event executor.
#pragma once

#include "models/fabric/fabric.hpp"
#include "models/fabric/routes.hpp"
#include "sim/executor/placed_schedule.hpp"
#include "sim/network/network_run.hpp"

#include <vector>

namespace weft {

// Runs `job` on `fabric`. `timeline`, if given, receives every message. Once per process (see kernel_model.hpp).
// Throws RunError, saying who waits for whom, when no progress is possible.
NetworkRun run_flow(const PlacedSchedule& job, const Fabric& fabric, Routes& routes, std::vector<MessageRecord>* timeline = nullptr);

// The same without an engine around it: for tests and for measuring what the engine costs.
NetworkRun run_flow_bare(const PlacedSchedule& job, const Fabric& fabric, Routes& routes, std::vector<MessageRecord>* timeline = nullptr);

}  // namespace weft
