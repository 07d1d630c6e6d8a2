// Numbers as results show them: nobody should read more into them, and in decimals they are written without an artefact of binary ones.
#pragma once

#include <cmath>

namespace weft {

inline double four_decimals(double value) { return std::round(value * 1e4) / 1e4; }

// Powers of two stay as they are, as sizes are.
inline double three_digits(double value) {
  if (value == 0 || value == std::exp2(std::round(std::log2(value)))) return value;
  const int exponent = static_cast<int>(std::floor(std::log10(std::abs(value)))) - 2;
  const double unit = std::pow(10.0, std::abs(exponent));  // a whole number
  return exponent < 0 ? std::round(value * unit) / unit : std::round(value / unit) * unit;
}

}  // namespace weft
