#include "kernels/compression/quantise_ops.hpp"
#include "kernels/cuda/quantise.hpp"
#include "kernels/cuda/transform.cuh"

namespace weft::cuda {
namespace {

__device__ std::int32_t counted(Fixed fixed, std::uint32_t& lost) {
  lost += static_cast<std::uint32_t>(fixed.overflowed);
  return fixed.value;
}

template <class T>
struct ToFixed {
  static constexpr bool counts = true;
  double scale;
  __device__ std::int32_t operator()(std::uint32_t& lost, T value) const { return counted(to_fixed(value, scale), lost); }
};

template <class T>
struct FromFixed {
  static constexpr bool counts = false;
  double inverse_scale;
  __device__ T operator()(std::uint32_t&, std::int32_t fixed) const { return from_fixed<T>(fixed, inverse_scale); }
};

struct AddSaturating {
  static constexpr bool counts = true;
  __device__ std::int32_t operator()(std::uint32_t& lost, std::int32_t a, std::int32_t b) const {
    return counted(weft::add_saturating(a, b), lost);
  }
};

}  // namespace

void quantise(DType type, FixedPoint point, const void* values, std::span<std::int32_t> fixed, std::size_t* overflowed, Stream stream) {
  check_scale(point);
  with_float_type(type, [&]<class T>() {
    transform("quantise", ToFixed<T>{point.scale}, fixed.size(), overflowed, stream, fixed.data(), static_cast<const T*>(values));
  });
}

void dequantise(DType type, FixedPoint point, std::span<const std::int32_t> fixed, void* values, Stream stream) {
  check_scale(point);
  with_float_type(type, [&]<class T>() {
    transform("dequantise", FromFixed<T>{1.0 / point.scale}, fixed.size(), nullptr, stream, static_cast<T*>(values), fixed.data());
  });
}

void add_saturating(std::span<std::int32_t> into, std::span<const std::int32_t> from, std::size_t* overflowed, Stream stream) {
  check(into.size() == from.size(), "{} fixed-point values added to {}", from.size(), into.size());
  const std::int32_t* a = into.data();
  transform("add_saturating", AddSaturating{}, into.size(), overflowed, stream, into.data(), a, from.data());
}

}  // namespace weft::cuda
