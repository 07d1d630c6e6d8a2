#include "kernels/cuda/finite.hpp"
#include "kernels/cuda/transform.cuh"
#include "kernels/finite_ops.hpp"

#include <algorithm>

namespace weft::cuda {
namespace {

// What makes the exponent of infinity carry into the sign bit, for the elements in one 32-bit word.
template <class T>
struct Carry;
template <>
struct Carry<float16> {
  static constexpr std::uint32_t magnitude = 0x7fff7fffu, to_carry = 0x04000400u;
};
template <>
struct Carry<bfloat16> {
  static constexpr std::uint32_t magnitude = 0x7fff7fffu, to_carry = 0x00800080u;
};
template <>
struct Carry<float> {
  static constexpr std::uint32_t magnitude = 0x7fffffffu, to_carry = 0x00800000u;
};
template <>
struct Carry<double> {  // of its upper word; the lower one tells NaN from infinity only
  static constexpr std::uint32_t magnitude = 0x7fffffffu, to_carry = 0x00100000u;
};

template <class T>
__device__ bool any_nonfinite(uint4 words) {
  const auto carried = [](std::uint32_t word) { return (word & Carry<T>::magnitude) + Carry<T>::to_carry; };
  std::uint32_t carries = carried(words.y) | carried(words.w);
  if constexpr (sizeof(T) < 8) carries |= carried(words.x) | carried(words.z);
  return (carries & ~Carry<T>::magnitude) != 0;
}

// Non-finite elements are rare, so 16 bytes are looked at together first, and one by one only if there is any.
template <class T>
__global__ void __launch_bounds__(detail::threads) count_kernel(const T* values, std::size_t count, std::size_t head, NonFinite* found) {
  std::uint32_t nans = 0, nonfinites = 0;
  const auto look_at = [&](T value) {
    nans += nan_bit(value);
    nonfinites += nonfinite_bit(value);
  };
  constexpr std::size_t width = 16 / sizeof(T);
  using Pack = detail::Pack<T, static_cast<int>(width)>;
  const std::size_t packs = (count - head) / width;
  const std::size_t stride = std::size_t{gridDim.x} * detail::threads;
  const std::size_t thread = std::size_t{blockIdx.x} * detail::threads + threadIdx.x;
  for (std::size_t i = thread; i < packs; i += stride) {
    const Pack pack = reinterpret_cast<const Pack*>(values + head)[i];
    if (any_nonfinite<T>(reinterpret_cast<const uint4*>(values + head)[i]))
      for (const T value : pack.element) look_at(value);
  }
  if (thread < head) look_at(values[thread]);
  const std::size_t tail = head + packs * width + thread;
  if (tail < count) look_at(values[tail]);
  detail::add_count(&found->nans, nans);
  detail::add_count(&found->infinities, nonfinites - nans);
}

}  // namespace

void count_nonfinite(DType type, const void* values, std::size_t count, NonFinite* found, Stream stream) {
  if (count == 0) return;
  with_type(type, [&]<class T>() {
    if constexpr (HalfFloat<T> || std::floating_point<T>) {
      const T* data = static_cast<const T*>(values);
      const std::size_t head = std::min(count, detail::elements_to_alignment(data, 16 / sizeof(T)));
      // Few blocks, so that a thread counts much and adds once.
      const std::size_t blocks = std::clamp<std::size_t>(count * sizeof(T) / (16 * detail::threads), 1, 4096);
      count_kernel<<<static_cast<unsigned>(blocks), detail::threads, 0, stream>>>(data, count, head, found);
      check_launch("count_nonfinite");
    }
  });
}

}  // namespace weft::cuda
