// Fixed point for aggregation by integer adders (ATP, SwitchML): a value becomes value * scale, rounded to the nearest
// integer, ties to even. What does not fit into +-(2^31 - 1) is saturated and counted, never wrapped; so is a NaN.
//
// float16, bfloat16, float32 and float64 only; the product is taken in float64, so for all but float64 itself it is
// exact and rounded once. |dequantise(quantise(v)) - v| <= 0.5 / scale, plus one rounding to the type.
#pragma once

#include "kernels/dtype.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft {

// A power of ten or two, positive and finite; the sum of n ranks fits where n * |value| * scale < 2^31.
struct FixedPoint {
  double scale = 1e8;
};

// `values` holds fixed.size() elements of the type. Returns how many did not fit.
[[nodiscard]] std::size_t quantise(DType, FixedPoint, const void* values, std::span<std::int32_t> fixed);

// The nearest value of the type to fixed / scale, but for at most one unit in its last place.
void dequantise(DType, FixedPoint, std::span<const std::int32_t> fixed, void* values);

// into[i] += from[i], saturating. Returns how many sums did not fit. Sizes are equal.
[[nodiscard]] std::size_t add_saturating(std::span<std::int32_t> into, std::span<const std::int32_t> from);

}  // namespace weft
