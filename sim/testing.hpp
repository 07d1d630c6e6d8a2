// What tests of whole simulations share: a star to run on, and the row of a scenario.
#pragma once

#include "sim/cases/testing.hpp"
#include "sim/experiment.hpp"

namespace weft {

inline Scenario star(int nodes, int ranks, NetworkKind network) {
  Scenario s;
  s.fabric.spec.emplace<Star>(Star{.nodes = nodes, .host_link = {100_Gbps, 1_us}});
  s.workload.ranks = ranks;
  s.network = network;
  return s;
}

inline Row first_row(const Scenario& s) { return Experiment(s, s.workload.algorithms.front()).run(s.workload.sizes.front()); }
inline Row first_row(const Json& json) { return first_row(cases_of(json).front().scenario); }

}  // namespace weft
