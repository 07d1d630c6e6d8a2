// Measured against predicted, for one lab.
#pragma once

#include "kernels/base/units.hpp"
#include "validation/fit/fit.hpp"

#include <string>
#include <vector>

namespace weft::lab {

struct Compared {
  std::string algorithm;
  Bytes size;
  double measured_us = 0;
  double predicted_us = 0;
  bool fitted = false;  // the prediction was chosen to meet this one
};

// Two algorithms of which one is measurably faster at a size are a pair; it is right if the prediction says the same.
struct Order {
  int pairs = 0;
  std::vector<std::string> wrong = {};  // "1MiB: ring is faster than direct by 23 %, predicted slower by 4 %"
};
constexpr double clear_difference = 0.10;  // of the faster's time

ErrorSummary errors_of(const std::vector<Compared>& rows);  // of what was not fitted
Order order_of(const std::vector<Compared>& rows);
std::string to_table(const std::vector<Compared>& rows);  // ends with the error, the order and every wrong pair

}  // namespace weft::lab
