// ATP and SwitchML in the lab, over UDP: ranks and parameter servers on the hosts of their endpoints, a software switch at the bridge
// of each switch above them. What a datagram crosses are the links that it crosses in the simulation.
#pragma once

#include "sim/scenario/scenario.hpp"
#include "validation/lab/plan.hpp"

#include <string>
#include <vector>

namespace weft::lab {

// Whether this workload has in-network aggregation.
Programs programs_of(const Scenario& scenario);

// What the scenario wants of them and real datagrams cannot be or do, each in its place.
std::vector<Problem> in_network_problems(const Scenario& scenario, const Fabric& fabric);

// What weft bench is told of one all-reduce.
struct InNetworkBench {
  std::vector<Host> nodes = {};             // ranks, servers, switches
  std::vector<std::string> arguments = {};  // the algorithm, its settings, and who hangs below which switch
};
InNetworkBench in_network_bench(const Scenario& scenario, const AlgorithmChoice& algorithm, const Fabric& fabric, const Plan& plan);

}  // namespace weft::lab
