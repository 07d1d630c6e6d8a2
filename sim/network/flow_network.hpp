// The `flow` network: the fluid model driven by the event executor inside SimGrid's engine.
#pragma once

#include "models/fabric/fabric.hpp"
#include "models/fabric/routes.hpp"
#include "sim/network/event_executor.hpp"
#include "sim/network/network_run.hpp"

#include <vector>

namespace weft {

class FluidNetwork;

// Runs `job` on `fabric`. `timeline`, if given, receives every message. Once per process (see kernel_model.hpp).
// Throws RunError, saying who waits for whom, when no progress is possible.
NetworkRun run_flow(const PlacedSchedule& job, const Fabric& fabric, Routes& routes, std::vector<MessageRecord>* timeline = nullptr);

// The same without an engine around it: for tests and for measuring what the engine costs.
NetworkRun run_flow_bare(const PlacedSchedule& job, const Fabric& fabric, Routes& routes, std::vector<MessageRecord>* timeline = nullptr);

// Link rates as messages see them, in whole bits per second: wire_efficiency x the rate of the link, and inside servers the
// rate itself.
std::vector<BitsPerSecond> goodput_of_links(const Fabric& fabric, const HardwareProfile& hardware);

// What links of servers lose while flows cross them both ways.
void lose_two_way(const Fabric& fabric, FluidNetwork& network);

}  // namespace weft
