// The two 16-bit floating-point formats as bits, converted to and from float32 so that every machine rounds alike: to
// nearest, ties to even; infinities stay, NaNs stay NaNs (and become quiet). CPUs do it without the help of the hardware,
// branch-free and forced inline, so that loops over them vectorise under any instruction set; GPUs have one instruction
// for each conversion, which gives the same bits, but for the payload of NaNs.
#pragma once

#include "kernels/base/host_device.hpp"

#include <bit>
#include <cstdint>
#include <type_traits>

namespace weft {

struct float16 {
  std::uint16_t bits = 0;                                        // 1 sign, 5 exponent (bias 15), 10 fraction
  friend constexpr bool operator==(float16, float16) = default;  // of the bits
};

struct bfloat16 {
  std::uint16_t bits = 0;  // the upper half of a float32
  friend constexpr bool operator==(bfloat16, bfloat16) = default;
};

[[gnu::always_inline]] WEFT_HOST_DEVICE constexpr inline float to_float(float16 h) {
#ifdef __CUDA_ARCH__
  if (!std::is_constant_evaluated()) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(h.bits));
    return value;
  }
#endif
  const std::uint32_t sign = (h.bits & 0x8000u) << 16;
  const std::uint32_t magnitude = (h.bits & 0x7fffu) << 13;  // exponent and fraction where float32 has them
  const std::uint32_t normal = magnitude + (112u << 23);     // biases differ by 127 - 15
  const std::uint32_t infinite = magnitude | (255u << 23);
  // A subnormal becomes 2^-14 (1 + fraction), exactly; the one too many is taken away again.
  const float leading_one = std::bit_cast<float>(113u << 23);
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude + (113u << 23)) - leading_one);
  const std::uint32_t finite = magnitude < (1u << 23) ? subnormal : normal;
  return std::bit_cast<float>((magnitude >= (31u << 23) ? infinite : finite) | sign);
}

[[gnu::always_inline]] WEFT_HOST_DEVICE constexpr inline float to_float(bfloat16 b) {
  return std::bit_cast<float>(std::uint32_t{b.bits} << 16);
}

[[gnu::always_inline]] WEFT_HOST_DEVICE constexpr inline float16 to_float16(float value) {
#ifdef __CUDA_ARCH__
  if (!std::is_constant_evaluated()) {
    float16 rounded;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(rounded.bits) : "f"(value));
    return rounded;
  }
#endif
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  // Adding just under half of the last place, and one more if that place is odd; a carry moves into the exponent, and
  // out of the largest finite value to infinity.
  const std::uint32_t normal = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // Next to 0.5 the last place of a float32 is that of a float16 subnormal: the addition rounds.
  const float half = 0.5f;
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + half) - std::bit_cast<std::uint32_t>(half);
  const std::uint32_t nan = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  const std::uint32_t infinite = magnitude > 0x7f800000u ? nan : 0x7c00u;
  const std::uint32_t finite = magnitude < (113u << 23) ? subnormal : normal;
  return {static_cast<std::uint16_t>((magnitude >= (143u << 23) ? infinite : finite) | sign)};
}

[[gnu::always_inline]] WEFT_HOST_DEVICE constexpr inline bfloat16 to_bfloat16(float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if (!std::is_constant_evaluated()) {
    bfloat16 nearest;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(nearest.bits) : "f"(value));
    return nearest;
  }
#endif
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const std::uint32_t nan = (bits >> 16) | 0x40u;
  return {static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded)};
}

}  // namespace weft
