// {"program": {"files": [...]}}: programs that trace files hold.
#pragma once

#include "sim/scenario/fields.hpp"
#include "sim/scenario/scenario.hpp"

namespace weft {

struct TraceFiles {
  std::vector<std::string> files = {};
  bool lenient = false;
};

template <>
struct Declared<TraceFiles> {
  static Declaration<TraceFiles> declaration();
};

// A list of operations, or trace files, which are read.
bool read_program(const Json&, const JsonPath&, Input&, Workload&);

// What the trace does not say, unless that is allowed, and what of it cannot be simulated on the scenario's ranks.
std::vector<Problem> trace_problems(const Scenario&);

// The algorithm for a collective of so many ranks: the row's where it does that, or else the first of the registry that does.
AlgorithmChoice algorithm_for(const Scenario&, const AlgorithmChoice& row, Collective, int ranks);

}  // namespace weft
