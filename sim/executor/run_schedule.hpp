// One schedule alone on a network of its own: for comparisons between networks, tests and benchmarks. Scenarios run through
// shared_run.hpp.
#pragma once

#include "sim/executor/program_driver.hpp"

namespace weft {

// `network` has no other driver that waits for something.
template <class Network>
NetworkRun run_schedule(const PlacedSchedule& job, Routes& routes, SharedNetwork<Network>& network, std::vector<MessageRecord>* timeline,
                        Around around) {
  std::vector<std::int64_t> nic_free_at(static_cast<std::size_t>(routes.fabric().links()));
  Program program = program_of(job.schedule, job.elements, job.element_bytes);
  program.calls.front().regime = job.regime;
  ProgramDriver driver({.program = program, .placement = job.placement, .hardware = job.hardware, .start = job.start, .timeline = timeline},
                       routes, network, nic_free_at);
  run_to_end(network, around);
  NetworkRun run = driver.result();
  run.events = network.model().events();
  return run;
}

}  // namespace weft
