// The arithmetic of one element, shared by the CPU and the CUDA reduction so that both give the same bits.
#pragma once

#include "kernels/base/error.hpp"
#include "kernels/dtype.hpp"
#include "kernels/half.hpp"

#include <concepts>
#include <cstdint>
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

template <class T>
[[gnu::always_inline]] WEFT_HOST_DEVICE constexpr inline T divide(T sum, int ranks) {
  using C = typename Computed<T>::type;
  if constexpr (std::floating_point<C>)
    return narrow<T>(widen(sum) / static_cast<C>(ranks));
  else
    return static_cast<T>(sum / ranks);
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
