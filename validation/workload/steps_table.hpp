// The table that a real run of training steps prints, and what may be read from it again.
#pragma once

#include "sim/results/row.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct StepsRun {
  std::string transport;
  int iterations = 0;
};

// A line for each row, all of one scenario.
std::string to_table(const std::vector<Row>& rows, const StepsRun& run);

struct MeasuredStep {
  double step_us = 0, compute_us = 0;
};
// Of each line of such a table, in its order. Throws RunError with a line that is none of it.
std::vector<MeasuredStep> read_steps(std::string_view table);

}  // namespace weft
