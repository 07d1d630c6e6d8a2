// From a scenario's traces to a program that can be run.
#pragma once

#include "sim/program_of_workload.hpp"

#include <string>

namespace weft {

struct ProgramOfTrace {
  Program program;
  std::vector<std::string> notes = {};  // how it was spread, and what was taken for what the trace does not say
};

// `row`: the algorithm of the collectives that it does. Throws RunError when a schedule is wrong.
ProgramOfTrace program_of_trace(const Scenario& scenario, const AlgorithmChoice& row, const ProgramSite& site);

}  // namespace weft
