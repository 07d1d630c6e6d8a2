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

// Elements as integers: multiples of a unit so small that the largest of `count` elements has 29 to 51 bits, and their sum fits into 64.
// Sums of integers are the same in any order.
struct SketchUnit {
  double per_unit, unit;  // the reciprocal, both powers of two

  // `largest`: the bits of the largest finite magnitude.
  WEFT_HOST_DEVICE constexpr SketchUnit(std::uint32_t largest, std::size_t count)
      : per_unit(power_of_two(bits(count) - 1 - exponent(largest))), unit(power_of_two(exponent(largest) + 1 - bits(count))) {}

  // At 1.5 * 2^52 the last place is 1: the addition rounds, and the integer is the distance between the bits.
  [[gnu::always_inline]] WEFT_HOST_DEVICE constexpr std::int64_t units(float value) const {
    constexpr double shift = 0x1.8p52;
    return std::bit_cast<std::int64_t>(static_cast<double>(value) * per_unit + shift) - std::bit_cast<std::int64_t>(shift);
  }
  [[gnu::always_inline]] WEFT_HOST_DEVICE constexpr float value(std::int64_t units) const {
    return static_cast<float>(static_cast<double>(units) * unit);
  }

 private:
  WEFT_HOST_DEVICE static constexpr int exponent(std::uint32_t magnitude) {
    const int biased = static_cast<int>(magnitude >> 23);
    return (biased > 1 ? biased : 1) - 127;
  }
  WEFT_HOST_DEVICE static constexpr int bits(std::size_t count) {
    int of_count = 0;
    for (; count > 0; count >>= 1) ++of_count;
    return of_count > 11 ? 62 - of_count : 51;
  }
  WEFT_HOST_DEVICE static constexpr double power_of_two(int exponent) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
  }
};

// 0 for what is not finite.
[[gnu::always_inline]] WEFT_HOST_DEVICE constexpr inline std::uint32_t finite_magnitude(float value) {
  const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(value) & 0x7fffffffu;
  return magnitude < 0x7f800000u ? magnitude : 0;
}
[[gnu::always_inline]] WEFT_HOST_DEVICE constexpr inline float finite_part(float value) {
  return finite_magnitude(value) != 0 ? value : 0.0f;
}

inline void check_shape(const SketchShape& shape, std::size_t counters) {
  check(shape.rows >= 1 && shape.rows <= SketchShape::max_rows, "a sketch of {} rows", shape.rows);
  check(shape.columns >= 1, "a sketch of {} columns", shape.columns);
  check(counters == shape.counters(), "{} counters for a sketch of {} x {}", counters, shape.rows, shape.columns);
}

}  // namespace weft
