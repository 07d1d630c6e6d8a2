// Ranges of numbers and quantities in a sweep.
#pragma once

#include "sim/json/form.hpp"

#include <vector>

namespace weft {

// An object with "from", "to", "factor" or "step": a range, right or wrong.
bool is_range(const Json& json);

// {"from": "1MiB", "to": "64MiB", "factor": 2} or {"from": 2, "to": 24, "step": 2}: numbers, or quantities of one kind, from "from" up to
// "to"; without "step" and "factor" each is twice the one before. Whole numbers stay whole. Empty where there is a problem.
std::vector<Json> values_of_range(const Json& json, const JsonPath& where, Input& in);

Json range_schema();

// A number, or a quantity as a whole number of its smallest unit ("1KiB" is 1024, "1us" is 1000000); values of one kind may be compared.
struct Magnitude {
  enum class Kind { none, number, bytes, time, rate } kind = Kind::none;
  double value = 0;
};
Magnitude magnitude_of(const Json& json);

}  // namespace weft
