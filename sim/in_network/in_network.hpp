// Runs an in-network all-reduce of a scenario: on `packet` with the agents themselves, which carry values and whose sums are
// compared, on `flow` with aggregation and multicast trees as single flows.
#pragma once

#include "models/routes.hpp"
#include "sim/network/network_run.hpp"
#include "sim/network/shared_network.hpp"
#include "sim/packet/packet_report.hpp"
#include "sim/scenario/scenario.hpp"

#include <string>
#include <vector>

namespace weft {

// One of the jobs that share the switches.
struct InNetworkTenant {
  std::vector<int> workers;  // the endpoint of each
  std::int64_t elements = 0;
  std::vector<SimTime> starts = {};  // of each worker; empty: all at 0
};

struct InNetworkRun {
  NetworkRun network = {};           // bytes_on_link: on the wire, headers included
  std::vector<SimTime> finish = {};  // by tenant
  std::vector<std::string> notes = {};
};

// Elements are 32-bit values. In SimGrid's engine once per process. Throws RunError where no progress is possible or a sum is
// wrong, InputError where a job does not fit the switches.
InNetworkRun run_in_network(const Scenario& scenario, const AlgorithmChoice& algorithm, const std::vector<InNetworkTenant>& tenants,
                            const Fabric& fabric, Routes& routes, PacketReport& report, Around around);

// The share c of packets that find another's packet in their aggregator, where N others are in flight and A aggregators are
// hashed to uniformly: those of the N that did not collide themselves each hold one, so c = (1 - c) N / A = N / (N + A).
double collision_share(double in_flight, double aggregators);

}  // namespace weft
