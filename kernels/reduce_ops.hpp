// The arithmetic of one element, shared by the CPU and the CUDA reduction so that both give the same bits.
#pragma once

#include "kernels/base/error.hpp"
#include "kernels/dtype.hpp"
#include "kernels/half.hpp"

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace weft {

template <class T>
concept HalfFloat = std::same_as<T, float16> || std::same_as<T, bfloat16>;

// What an element is computed in.
template <class T>
struct Computed {
  using type = T;
};
template <HalfFloat T>
struct Computed<T> {
  using type = float;
};

template <class T>
[[gnu::always_inline]] WEFT_HOST_DEVICE constexpr inline typename Computed<T>::type widen(T value) {
  if constexpr (HalfFloat<T>)
    return to_float(value);
  else
    return value;
}

template <class T>
[[gnu::always_inline]] WEFT_HOST_DEVICE constexpr inline T narrow(typename Computed<T>::type value) {
  if constexpr (std::same_as<T, float16>)
    return to_float16(value);
  else if constexpr (std::same_as<T, bfloat16>)
    return to_bfloat16(value);
  else
    return value;
}

template <ReduceOp op, class C>
[[gnu::always_inline]] WEFT_HOST_DEVICE constexpr inline C combine(C a, C b) {
  if constexpr (op == ReduceOp::min) {
    return ((a < b) | (a != a)) ? a : b;
  } else if constexpr (op == ReduceOp::max) {
    return ((a > b) | (a != a)) ? a : b;
  } else if constexpr (std::floating_point<C>) {
    if constexpr (op == ReduceOp::prod)
      return a * b;
    else
      return a + b;
  } else {
    using U = std::make_unsigned_t<C>;  // wraps where the signed type would overflow
    const U x = static_cast<U>(a), y = static_cast<U>(b);
    if constexpr (op == ReduceOp::prod) return static_cast<C>(static_cast<U>(x * y));
    if constexpr (op == ReduceOp::band) return static_cast<C>(static_cast<U>(x & y));
    if constexpr (op == ReduceOp::bor) return static_cast<C>(static_cast<U>(x | y));
    return static_cast<C>(static_cast<U>(x + y));
  }
}

// The upper half of the product.
[[gnu::always_inline]] WEFT_HOST_DEVICE constexpr inline std::uint32_t multiply_high(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>((std::uint64_t{a} * b) >> 32);
}
[[gnu::always_inline]] WEFT_HOST_DEVICE constexpr inline std::uint64_t multiply_high(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t lower = 0xffffffffu;
  const std::uint64_t mixed = (a & lower) * (b >> 32), mixed_too = (a >> 32) * (b & lower);
  const std::uint64_t carry = (((a & lower) * (b & lower)) >> 32) + (mixed & lower) + (mixed_too & lower);
  return (a >> 32) * (b >> 32) + (mixed >> 32) + (mixed_too >> 32) + (carry >> 32);
}

// Divides by a number that is known beforehand, by a multiplication and shifts (Granlund & Montgomery 1994, figure 4.1).
template <class U>
struct Divisor {
  U factor;  // floor(2^bits (2^l - d) / d) + 1, where l is the logarithm of d, rounded up
  int first_shift, second_shift;

  explicit constexpr Divisor(U d) {
    const int l = static_cast<int>(std::bit_width(static_cast<U>(d - 1)));
    U quotient = 0, rest = static_cast<U>((U{1} << l) - d);
    for (int bit = 0; bit < std::numeric_limits<U>::digits; ++bit) {  // long division: d, and so the rest, has a bit to spare
      rest = static_cast<U>(rest << 1);
      quotient = static_cast<U>(quotient << 1);
      if (rest >= d) rest -= d, ++quotient;
    }
    factor = quotient + 1;
    first_shift = l < 1 ? l : 1;
    second_shift = l > 1 ? l - 1 : 0;
  }
  [[gnu::always_inline]] WEFT_HOST_DEVICE constexpr U operator()(U n) const {
    const U t = multiply_high(factor, n);
    return (t + ((n - t) >> first_shift)) >> second_shift;
  }
};

// Of a sum over so many ranks; integers round toward zero.
template <class T>
class Average {
  static constexpr bool floats = HalfFloat<T> || std::floating_point<T>;
  using Magnitude = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  using By = std::conditional_t<floats, typename Computed<T>::type, Divisor<Magnitude>>;

 public:
  explicit constexpr Average(int ranks) : by_(by(ranks)) {}

  [[gnu::always_inline]] WEFT_HOST_DEVICE constexpr T operator()(T sum) const {
    if constexpr (floats) {
      return narrow<T>(widen(sum) / by_);
    } else if constexpr (std::unsigned_integral<T>) {
      return static_cast<T>(by_(sum));
    } else {
      const auto bits = static_cast<Magnitude>(sum);
      const bool negative = sum < 0;
      const Magnitude quotient = by_(negative ? Magnitude{0} - bits : bits);
      return static_cast<T>(negative ? Magnitude{0} - quotient : quotient);
    }
  }

 private:
  static constexpr By by(int ranks) {
    if constexpr (floats)
      return static_cast<By>(ranks);
    else
      return By(static_cast<Magnitude>(ranks));
  }
  By by_;
};

// The same of floating point by a multiplication, where that leaves the bits of the division: powers of two have an exact reciprocal; and
// a product in float32 is rounded far more finely than bfloat16. A quotient x / n that is not itself in the middle between two bfloat16
// numbers is apart from the middle m by a multiple of m's last place over n (x - m n is a multiple of that place): by 2^-8 / n of m at
// least, where the product is off by less than 2^-22 of it; so it is rounded the same way for n < 2^14. In the middle it lies only where
// the result is subnormal, which the product, a multiple of 2^-149 and off by less than half of that, then hits. float16 has subnormal
// middles that are normal in float32, and a product misses them: it is divided.
template <class T>
class ScaledAverage {
  using Product = typename Computed<T>::type;
  static constexpr int min_inexact = std::same_as<T, bfloat16> ? 1 << 14 : 1;

 public:
  explicit constexpr ScaledAverage(int ranks) : by_(Product{1} / static_cast<Product>(ranks)) {}
  static constexpr bool exact(int ranks) { return ranks < min_inexact || std::has_single_bit(static_cast<unsigned>(ranks)); }

  [[gnu::always_inline]] WEFT_HOST_DEVICE constexpr T operator()(T sum) const { return narrow<T>(widen(sum) * by_); }

 private:
  Product by_;
};

// Calls f with what makes the average of a sum over so many ranks, by the cheapest way that is exact.
template <class T, class F>
void with_average(int ranks, F&& f) {
  if constexpr (HalfFloat<T> || std::floating_point<T>)
    if (ScaledAverage<T>::exact(ranks)) return f(ScaledAverage<T>(ranks));
  f(Average<T>(ranks));
}

// Calls f.template operator()<T>() with the C++ type of `type`.
template <class F>
void with_type(DType type, F&& f) {
  switch (type) {
    case DType::float16:
      return f.template operator()<float16>();
    case DType::bfloat16:
      return f.template operator()<bfloat16>();
    case DType::float32:
      return f.template operator()<float>();
    case DType::float64:
      return f.template operator()<double>();
    case DType::int32:
      return f.template operator()<std::int32_t>();
    case DType::int64:
      return f.template operator()<std::int64_t>();
    case DType::uint8:
      return f.template operator()<std::uint8_t>();
  }
  check(false, "no data type has the value {}", static_cast<int>(type));
}

// Calls f.template operator()<T, op>() for the pair, which must be defined. avg comes as sum.
template <class F>
void with_type_and_op(DType type, ReduceOp op, F&& f) {
  check(defined(op, type), "{} is not defined for {}", name_of(op), name_of(type));
  with_type(type, [&]<class T>() {
    switch (op) {
      case ReduceOp::sum:
      case ReduceOp::avg:
        return f.template operator()<T, ReduceOp::sum>();
      case ReduceOp::min:
        return f.template operator()<T, ReduceOp::min>();
      case ReduceOp::max:
        return f.template operator()<T, ReduceOp::max>();
      case ReduceOp::prod:
        return f.template operator()<T, ReduceOp::prod>();
      case ReduceOp::band:
        if constexpr (std::integral<T>) return f.template operator()<T, ReduceOp::band>();
        break;
      case ReduceOp::bor:
        if constexpr (std::integral<T>) return f.template operator()<T, ReduceOp::bor>();
        break;
    }
    check(false, "no reduction has the value {}", static_cast<int>(op));
  });
}

}  // namespace weft
