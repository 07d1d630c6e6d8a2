#include "kernels/compression/quantise.hpp"

#include "kernels/compression/quantise_ops.hpp"
#include "kernels/simd.hpp"

#include <algorithm>

namespace weft {
namespace {

// Overflowing sums are counted in 32 bits within a block, so that the counters are as wide as the elements.
constexpr std::size_t counted_block = 4096;

}  // namespace

std::size_t quantise(DType type, FixedPoint point, const void* values, std::span<std::int32_t> fixed) {
  check_scale(point);
  std::size_t overflowed = 0;
  with_float_type(type, [&]<class T>() {
    for (std::size_t begin = 0; begin < fixed.size(); begin += counted_block) {
      const std::size_t count = std::min(counted_block, fixed.size() - begin);
      const T* in = static_cast<const T*>(values) + begin;
      std::int32_t* out = fixed.data() + begin;
      std::uint64_t lost = 0;
      vectorised([=, scale = point.scale, lost = &lost]() WEFT_INLINE {
        std::uint64_t sum = 0;
        WEFT_INDEPENDENT
        for (std::size_t i = 0; i < count; ++i) {
          const Fixed f = to_fixed(in[i], scale);
          out[i] = f.value;
          sum += f.overflowed;
        }
        *lost = sum;
      });
      overflowed += lost;
    }
  });
  return overflowed;
}

void dequantise(DType type, FixedPoint point, std::span<const std::int32_t> fixed, void* values) {
  check_scale(point);
  with_float_type(type, [&]<class T>() {
    T* out = static_cast<T*>(values);
    vectorised([out, in = fixed.data(), count = fixed.size(), inverse = 1.0 / point.scale]() WEFT_INLINE {
      WEFT_INDEPENDENT
      for (std::size_t i = 0; i < count; ++i) out[i] = from_fixed<T>(in[i], inverse);
    });
  });
}

std::size_t add_saturating(std::span<std::int32_t> into, std::span<const std::int32_t> from) {
  check(into.size() == from.size(), "{} fixed-point values added to {}", from.size(), into.size());
  std::size_t overflowed = 0;
  for (std::size_t begin = 0; begin < into.size(); begin += counted_block) {
    std::uint32_t lost = 0;
    vectorised([a = into.data() + begin, b = from.data() + begin, count = std::min(counted_block, into.size() - begin), lost = &lost]()
                   WEFT_INLINE {
                     std::uint32_t sum = 0;
                     WEFT_INDEPENDENT
                     for (std::size_t i = 0; i < count; ++i) {
                       const Fixed f = add_saturating(a[i], b[i]);
                       a[i] = f.value;
                       sum += static_cast<std::uint32_t>(f.overflowed);
                     }
                     *lost = sum;
                   });
    overflowed += lost;
  }
  return overflowed;
}

}  // namespace weft
