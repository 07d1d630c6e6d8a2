// Several jobs and the traffic of others on one fabric at the same time.
#pragma once

#include "models/fabric/programmable.hpp"
#include "models/faults.hpp"
#include "models/hardware.hpp"
#include "models/traffic.hpp"
#include "sim/executor/event_executor.hpp"
#include "sim/executor/program_driver.hpp"
#include "sim/in_network/in_network.hpp"
#include "sim/network/timeline.hpp"
#include "sim/packet/packet_report.hpp"
#include "sim/packet/settings.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/training/training_driver.hpp"

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace weft {

// What they all share.
struct SharedSite {
  Routes& routes;
  HardwareProfile hardware = {};
  ProgrammableSwitches switches = {};
  PacketSettings packet = {};
  Faults faults = {};
  NetworkActivity* activity = nullptr;  // receives what the network and the traffic do
};

struct Job {
  std::string name;  // goes with what it waits for
  std::variant<PlacedProgram, PlacedAggregation, PlacedTraining> placed;
};

struct JobRun {
  std::vector<Iteration> iterations;
  std::int64_t messages = 0;                    // in all iterations
  SimTime mean_finish = {};                     // of a program: when its ranks have ended the last iteration, on average
  std::int64_t max_sent = 0;                    // bytes by the NIC that sent most, in all iterations; in-network with headers
  BusiestLink between_switches = {};            // of an in-network job; others are known beforehand
  SimTime computed = {};                        // training: by a rank in a step, on average
  SimTime compressing = {};                     // training: in kernels of compression, in a step, by the rank with most of it
  Waits waits = {};                             // training: of a rank in a step, on average
  bool merged = false;                          // training: steps of its all-reduces were simulated together
  std::optional<PathParts> critical_path = {};  // of all iterations, where it is known

  SimTime finish() const { return iterations.back().end; }
};

struct SharedRun {
  std::vector<JobRun> jobs;
  std::vector<TrafficResult> traffic;
  std::vector<CopyResult> copies;
  SimTime finish;  // of the last job
  // On `flow` of all jobs, not of traffic and copies; on `packet` of everything.
  std::vector<std::int64_t> bytes_on_link;
  std::optional<InNetworkSummary> in_network;
  std::optional<PacketReport> packet;          // on the network `packet`
  std::int64_t rerouted = 0, interrupted = 0;  // where links fail, on `flow`: routes that changed, flows that stood still
  std::uint64_t events = 0, solves = 0, solved_flows = 0;
};

// What runs beside each other.
struct SharedLoad {
  std::span<const Job> jobs;
  std::span<const TrafficSpec> traffic = {};
  std::span<const HostCopies> copies = {};
  std::uint64_t max_events_apart = UINT64_MAX;  // that calls may take which are run apart
};

// On this network, which must be one that can do what is asked (NetworkTraits). Traffic goes on until the last job has finished.
// Throws RunError, saying who waits for whom, when some job makes no progress; CallsMeet where calls are to be run apart, and
// cannot be.
SharedRun run_on(NetworkKind network, const SharedLoad& load, const SharedSite& site, Around around);

}  // namespace weft
