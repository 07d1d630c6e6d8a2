// From a scenario's program to one that can be run.
#pragma once

#include "models/program.hpp"
#include "sim/scenario/scenario.hpp"

namespace weft {

// `row`: the algorithm of collectives that name none. Throws RunError when a schedule is wrong.
Program program_of_workload(const Scenario& scenario, const AlgorithmChoice& row);

}  // namespace weft
