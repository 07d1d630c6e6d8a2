// The networks, and what each can do: asked here and nowhere else.
#pragma once

#include "sim/scenario/scenario.hpp"

#include <span>
#include <string_view>

namespace weft {

struct NetworkTraits {
  NetworkKind kind;
  std::string_view name;
  std::string_view description;             // one sentence
  std::span<const char* const> leaves_out;  // of what happens in a cluster: for a report, a sentence each
  bool in_this_build;
  bool servers;      // several devices in a server, with PCIe between them
  bool copies;       // between GPUs and host memory, beside the workload
  bool shared;       // jobs, traffic and iterations: several collectives at once or one after the other
  bool programs;     // operations with dependencies, in streams
  bool in_network;   // switches that aggregate
  bool sharp;        // on all levels, for schedules
  bool timeline;     // every message for trace.json
  bool send_queues;  // overheads that queue up in the rank or its NIC
  bool runs_again;   // in one process
  bool faults;       // links that fail
  bool reroutes;     // routes that follow a failure, and links that slow down
};

std::span<const NetworkTraits> networks();
const NetworkTraits& traits_of(NetworkKind);

// Those of this build which can do it: "\"flow\" and \"packet\"".
std::string networks_that(bool NetworkTraits::*can);

}  // namespace weft
