// Between a scenario and the algorithm registry.
#pragma once

#include "collectives/registry.hpp"
#include "sim/scenario/scenario.hpp"

#include <string>
#include <vector>

namespace weft {

// Each name once, whatever the collective, in the registry's order.
std::vector<std::string> algorithm_names();

// What the registry is asked for; `ranks` as in the workload, or all endpoints.
Request request_of(const Scenario&, const AlgorithmChoice&);

// The registry's constraints, with places relative to the scenario; `at` is the algorithm's own.
std::vector<Problem> algorithm_problems(const Scenario&, const AlgorithmChoice&, const std::string& at);

}  // namespace weft
