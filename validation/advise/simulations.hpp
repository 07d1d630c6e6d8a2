// What advice rests on: times of candidates at sizes, simulated in processes side by side.
#pragma once

#include "sim/scenario/scenario.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace weft {

// A candidate and the sizes at which it is to be simulated. Its cluster, schedule, proof and routes are made once for all of them.
struct AdviseTask {
  std::size_t candidate = 0;  // of the scenario's algorithms
  std::vector<Bytes> sizes;
};

struct AdviseOutcome {
  std::size_t candidate = 0;
  Bytes size;
  SimTime time = {};
  SimTime busy = {};         // for how long the busiest link carries at its full rate: no run of this size takes less
  std::string failure = {};  // why there is no time
};

// One process a task, as many at once as there are cores; outcomes in the order of tasks and sizes.
std::vector<AdviseOutcome> simulate_tasks(const Scenario& scenario, const std::vector<AdviseTask>& tasks);

}  // namespace weft
