// {"program": {"files": [...]}}: programs that trace files hold.
#pragma once

#include "sim/json/fields.hpp"
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

}  // namespace weft
