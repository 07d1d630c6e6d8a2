// What the tests of all-reduces in switches share: a star, and what a run on it takes.
#pragma once

#include "sim/engine/in_child.hpp"
#include "sim/experiment.hpp"

#include <string>

namespace weft {

inline Scenario star(int nodes, int ranks, NetworkKind network) {
  Scenario s;
  const LinkSpec link{100_Gbps, 1_us};
  s.fabric.spec.emplace<Star>(Star{.nodes = nodes, .host_link = link});
  s.workload.ranks = ranks;
  s.network = network;
  return s;
}

// Its time in microseconds, simulated in a process of its own: SimGrid's engine runs once in each.
inline double us(const Scenario& scenario, const AlgorithmChoice& choice, Bytes size) {
  return std::stod(in_child([&] { return std::to_string(simulate(scenario, choice, size).time.ps); })) / 1e6;
}

inline AlgorithmChoice atp(int aggregators, int servers = 0) {
  AlgorithmChoice choice{"atp"};
  choice.atp.aggregators = aggregators;
  choice.atp.servers = servers;
  return choice;
}

}  // namespace weft
