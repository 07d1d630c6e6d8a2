// What the tests of all-reduces in switches share: ATP with so many aggregators, and what a run takes.
#pragma once

#include "sim/engine/in_child.hpp"
#include "sim/testing.hpp"

#include <string>

namespace weft {

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
