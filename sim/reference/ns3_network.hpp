// The `ns3` network: the blocking executor in SimGrid actors, messages carried as TCP by ns-3 through SimGrid's binding.
// Only where the installed SimGrid has it (SimGrid_HAS_NS3). An outside reference at packet level for small runs: ns-3 routes by itself
// (one shortest path for each pair, so "ecmp" has no effect), and its TCP brings headers, slow start and acknowledgements of its own.
#pragma once

#include "kernels/base/error.hpp"
#include "sim/executor/event_executor.hpp"
#include "sim/network/network_run.hpp"

#include <vector>

namespace weft {

// What keeps `job` from running on it, by the place in a scenario: too many devices, a rendezvous, a message larger than
// SimGrid 3.32's binding carries whole.
std::vector<Problem> ns3_problems(const PlacedSchedule& job, const Fabric& fabric);

// Runs `job` on `fabric`. Once per process. Throws InputError with ns3_problems(). bytes_on_link counts payload on the
// routes of `routes`, which are not always those that ns-3 takes.
NetworkRun run_ns3(const PlacedSchedule& job, const Fabric& fabric, Routes& routes);

}  // namespace weft
