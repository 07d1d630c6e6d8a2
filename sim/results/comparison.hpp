// Rows held against one another: the fastest of a case and size, and all cases side by side.
#pragma once

#include "sim/results/result.hpp"
#include "sim/results/text_table.hpp"

#include <string>
#include <vector>

namespace weft {

// Whether no other row of its size in `group` is as fast. Of rows that stand for several runs: whether nearly all runs (95 %) take less
// time than nearly all of any other's, which a row of one run does where it is faster.
bool fastest(const Result& result, const std::vector<const Result*>& group);

// In which the times of a table are given: the largest that none is less than one of.
struct TimeUnit {
  const char* name = "us";
  double ps = 1e6;
  int decimals = 2;
  std::string text(SimTime time) const;
};
TimeUnit time_unit(const std::vector<const Result*>& group);

// A block for each size, a line for each case, a column for each algorithm; as many blocks of columns as the width asks for.
std::string comparison(const std::vector<Result>& results, const std::vector<Case>& cases, const TableStyle& style);

}  // namespace weft
