// The trace of a workload: what keeps it from being run.
#pragma once

#include "sim/scenario/scenario.hpp"

#include <span>
#include <vector>

namespace weft {

// What the trace does not say, unless that is allowed, and what of it cannot be simulated on the scenario's ranks.
std::vector<Problem> trace_problems(const Scenario&);

// The algorithm for a collective of the ranks on these endpoints: the row's where it does that, or else the first of the registry that
// does.
AlgorithmChoice algorithm_for(const Scenario&, const AlgorithmChoice& row, Collective, std::span<const int> seats);

}  // namespace weft
