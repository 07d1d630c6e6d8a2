// What makes an element infinite or a NaN, shared by the CPU and the CUDA version.
#pragma once

#include "kernels/reduce_ops.hpp"

#include <cstdint>

namespace weft {

template <class T>
struct FloatBits;
template <>
struct FloatBits<float16> {
  using word = std::uint16_t;
  static constexpr word infinity = 0x7c00;
};
template <>
struct FloatBits<bfloat16> {
  using word = std::uint16_t;
  static constexpr word infinity = 0x7f80;
};
template <>
struct FloatBits<float> {
  using word = std::uint32_t;
  static constexpr word infinity = 0x7f800000u;
};
template <>
struct FloatBits<double> {
  using word = std::uint64_t;
  static constexpr word infinity = 0x7ff0000000000000u;
};

// The bits without the sign.
template <class T>
[[gnu::always_inline]] WEFT_HOST_DEVICE constexpr inline typename FloatBits<T>::word magnitude_bits(T value) {
  using Word = typename FloatBits<T>::word;
  return static_cast<Word>(std::bit_cast<Word>(value) & static_cast<Word>(static_cast<Word>(~Word{0}) >> 1));
}

// 1 for a NaN, and 1 for a NaN or an infinity: the carry into the sign bit, which vectorises in every width.
template <class T>
[[gnu::always_inline]] WEFT_HOST_DEVICE constexpr inline typename FloatBits<T>::word nan_bit(T value) {
  using Word = typename FloatBits<T>::word;
  constexpr int sign = 8 * sizeof(Word) - 1;
  constexpr auto to_carry = static_cast<Word>((Word{1} << sign) - FloatBits<T>::infinity - 1);
  return static_cast<Word>(static_cast<Word>(magnitude_bits(value) + to_carry) >> sign);
}
template <class T>
[[gnu::always_inline]] WEFT_HOST_DEVICE constexpr inline typename FloatBits<T>::word nonfinite_bit(T value) {
  using Word = typename FloatBits<T>::word;
  constexpr int sign = 8 * sizeof(Word) - 1;
  constexpr auto to_carry = static_cast<Word>((Word{1} << sign) - FloatBits<T>::infinity);
  return static_cast<Word>(static_cast<Word>(magnitude_bits(value) + to_carry) >> sign);
}

}  // namespace weft
