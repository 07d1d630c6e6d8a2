// Where a count sketch puts an element, and the median; shared by the CPU and the CUDA version.
#pragma once

#include "kernels/base/error.hpp"
#include "kernels/base/hash.hpp"
#include "kernels/compression/count_sketch.hpp"
#include "kernels/half.hpp"

#include <bit>
#include <cstdint>

namespace weft {

WEFT_HOST_DEVICE constexpr inline std::uint64_t row_seed(std::uint64_t seed, int row) {
  return mixed(seed + golden_ratio * (static_cast<std::uint64_t>(row) + 1));
}

// The upper half of an element's hash chooses the column, the lowest bit the sign.
[[gnu::always_inline]] WEFT_HOST_DEVICE constexpr inline std::uint64_t element_hash(std::uint64_t row_seed, std::uint64_t index) {
  return mixed(index ^ row_seed);
}

[[gnu::always_inline]] WEFT_HOST_DEVICE constexpr inline std::uint32_t column_of(std::uint64_t hash, std::uint32_t columns) {
  return static_cast<std::uint32_t>(((hash >> 32) * columns) >> 32);
}

[[gnu::always_inline]] WEFT_HOST_DEVICE constexpr inline float with_sign_of(std::uint64_t hash, float value) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ (static_cast<std::uint32_t>(hash) << 31));
}

[[gnu::always_inline]] WEFT_HOST_DEVICE constexpr inline void put_in_order(float& a, float& b) {
  const float low = b < a ? b : a, high = b < a ? a : b;
  a = low;
  b = high;
}

inline void check_shape(const SketchShape& shape, std::size_t counters) {
  check(shape.rows >= 1 && shape.rows <= SketchShape::max_rows, "a sketch of {} rows", shape.rows);
  check(shape.columns >= 1, "a sketch of {} columns", shape.columns);
  check(counters == shape.counters(), "{} counters for a sketch of {} x {}", counters, shape.rows, shape.columns);
}

}  // namespace weft
