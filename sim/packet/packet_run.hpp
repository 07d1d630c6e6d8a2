// One schedule alone on the `packet` network: the packet model driven by the event executor.
#pragma once

#include "models/fabric/fabric.hpp"
#include "models/fabric/routes.hpp"
#include "sim/executor/placed_schedule.hpp"
#include "sim/network/network_run.hpp"
#include "sim/packet/packet_report.hpp"
#include "sim/packet/settings.hpp"

#include <vector>

namespace weft {

// Runs `job` on `fabric`. `timeline`, if given, receives every message; `report` what its packets met. Once per process
// (see kernel_model.hpp). Throws RunError, saying who waits for whom, when no progress is possible or a peer is lost.
NetworkRun run_packet(const PlacedSchedule& job, const Fabric& fabric, Routes& routes, const PacketSettings& settings,
                      std::vector<MessageRecord>* timeline = nullptr, PacketReport* report = nullptr);

// The same without an engine around it: for tests and for measuring what the engine costs.
NetworkRun run_packet_bare(const PlacedSchedule& job, const Fabric& fabric, Routes& routes, const PacketSettings& settings,
                           std::vector<MessageRecord>* timeline = nullptr, PacketReport* report = nullptr);

}  // namespace weft
