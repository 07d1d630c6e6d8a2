// Statistics of measurements.
#pragma once

#include "kernels/base/error.hpp"

#include <algorithm>
#include <vector>

namespace weft {

// The middle one; of an even number the smaller of the two, as in the table of weft bench.
inline double median(std::vector<double> values) {
  check(!values.empty(), "there is no median of nothing");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace weft
