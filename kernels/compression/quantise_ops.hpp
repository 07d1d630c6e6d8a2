// The arithmetic of one element in fixed point, shared by the CPU and the CUDA version so that both give the same bits.
#pragma once

#include "kernels/base/error.hpp"
#include "kernels/compression/quantise.hpp"
#include "kernels/reduce_ops.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

namespace weft {

struct Fixed {
  std::int32_t value;
  std::uint64_t overflowed;  // 0 or 1; as wide as the arithmetic, so that
                             // counting needs no conversion
};

[[gnu::always_inline]] WEFT_HOST_DEVICE constexpr inline Fixed to_fixed(double scaled) {
  // Clamped as integers, which order like the magnitudes they are the bits of, NaNs last: floating-point comparisons
  // and selections would not become the few vector instructions that these do.
  constexpr std::int64_t sign_bit = std::numeric_limits<std::int64_t>::min();
  constexpr auto limit = std::bit_cast<std::int64_t>(0x1.fffffffdfffffp30);  // the last to round to 2^31 - 1
  const auto bits = std::bit_cast<std::int64_t>(scaled);
  const std::int64_t magnitude = bits & ~sign_bit;
  const std::int64_t clamped = (magnitude < limit ? magnitude : limit) | (bits & sign_bit);
  // At 1.5 * 2^52 the last place is 1: the addition rounds, and the lower half of the bits is the integer.
  const auto rounded = std::bit_cast<std::uint64_t>(std::bit_cast<double>(clamped) + 0x1.8p52);
  return {static_cast<std::int32_t>(static_cast<std::uint32_t>(rounded)), static_cast<std::uint64_t>(limit - magnitude) >> 63};
}

template <class T>
[[gnu::always_inline]] WEFT_HOST_DEVICE constexpr inline Fixed to_fixed(T value, double scale) {
  return to_fixed(static_cast<double>(widen(value)) * scale);
}

template <class T>
[[gnu::always_inline]] WEFT_HOST_DEVICE constexpr inline T from_fixed(std::int32_t fixed, double inverse_scale) {
  return narrow<T>(static_cast<typename Computed<T>::type>(fixed * inverse_scale));
}

[[gnu::always_inline]] WEFT_HOST_DEVICE constexpr inline Fixed add_saturating(std::int32_t a, std::int32_t b) {
  const auto x = static_cast<std::uint32_t>(a), y = static_cast<std::uint32_t>(b), sum = x + y;
  const std::uint32_t overflowed = (~(x ^ y) & (x ^ sum)) >> 31;  // equal signs in, the other one out
  const std::uint32_t limit = (x >> 31) + 0x7fffffffu;
  return {static_cast<std::int32_t>(overflowed ? limit : sum), overflowed};
}

// with_type for the types that have a fixed point.
template <class F>
void with_float_type(DType type, F&& f) {
  with_type(type, [&]<class T>() {
    if constexpr (HalfFloat<T> || std::floating_point<T>)
      f.template operator()<T>();
    else
      check(false, "{} is no floating-point type", name_of(type));
  });
}

inline void check_scale(FixedPoint point) {
  check(std::isfinite(point.scale) && point.scale > 0, "a fixed-point scale of {}", point.scale);
}

}  // namespace weft
