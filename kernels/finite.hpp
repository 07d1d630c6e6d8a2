// Looks for NaNs and infinities in a gradient before it spoils everybody's sum.
#pragma once

#include "kernels/dtype.hpp"

#include <cstddef>

namespace weft {

struct NonFinite {
  std::size_t nans = 0;
  std::size_t infinities = 0;  // of either sign

  friend bool operator==(const NonFinite&, const NonFinite&) = default;
};

// Integers are always finite.
NonFinite count_nonfinite(DType, const void* values, std::size_t count);

}  // namespace weft
