// The program of a workload: what keeps it from being run.
#pragma once

#include "sim/scenario/scenario.hpp"

#include <vector>

namespace weft {

// For a scenario whose fabric and ranks are good.
std::vector<Problem> program_problems(const Scenario& scenario);

// What the operation is a collective of: the scenario with that workload alone, on as many ranks as take part.
Scenario scenario_of_operation(const Scenario& scenario, const AlgorithmChoice& row, const OperationSpec& operation);

}  // namespace weft
