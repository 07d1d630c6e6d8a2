// out[i] = f(a[i], ...) over device memory, in 16-byte accesses wherever all the arrays allow it.
#pragma once

#include "kernels/cuda/check.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace weft::cuda {

namespace detail {

constexpr unsigned threads = 256;
constexpr unsigned packs_per_thread = 4;  // all are loaded before the first is used: enough bytes in flight

template <class T, int width>
struct alignas(sizeof(T) * width) Pack {
  T element[width];
};

// Sums `lost` over the warp and adds it to `count`, for which there is hardly ever a reason.
__device__ inline void add_count(std::size_t* count, std::uint32_t lost) {
  if (!__any_sync(0xffffffffu, lost != 0)) return;
  for (int distance = 16; distance > 0; distance /= 2) lost += __shfl_down_sync(0xffffffffu, lost, distance);
  if (threadIdx.x % 32 == 0) atomicAdd(reinterpret_cast<unsigned long long*>(count), static_cast<unsigned long long>(lost));
}

// Elements before `head` and after the last full pack are done one by one, by the first block.
template <int width, class F, class Out, class... In>
__global__ void __launch_bounds__(threads)
    transform_kernel(F f, std::size_t count, std::size_t head, std::size_t* lost_count, Out* out, const In*... in) {
  std::uint32_t lost = 0;
  const std::size_t packs = (count - head) / width;
  const std::size_t first = std::size_t{blockIdx.x} * (threads * packs_per_thread) + threadIdx.x;
  const auto pack_of = [&]<class T>(const T* data, std::size_t i) {
    return i < packs ? reinterpret_cast<const Pack<T, width>*>(data + head)[i] : Pack<T, width>{};
  };
  const auto run = [&](auto... loaded) {  // each an array of packs_per_thread packs
#pragma unroll
    for (unsigned u = 0; u < packs_per_thread; ++u) {
      const std::size_t i = first + u * threads;
      if (i >= packs) break;
      Pack<Out, width> result;
#pragma unroll
      for (int e = 0; e < width; ++e) result.element[e] = f(lost, loaded.pack[u].element[e]...);
      reinterpret_cast<Pack<Out, width>*>(out + head)[i] = result;
    }
  };
  const auto load = [&]<class T>(const T* data) {
    struct {
      Pack<T, width> pack[packs_per_thread];
    } loaded;
#pragma unroll
    for (unsigned u = 0; u < packs_per_thread; ++u) loaded.pack[u] = pack_of(data, first + u * threads);
    return loaded;
  };
  run(load(in)...);
  if (blockIdx.x == 0) {
    for (std::size_t i = threadIdx.x; i < head; i += threads) out[i] = f(lost, in[i]...);
    for (std::size_t i = head + packs * width + threadIdx.x; i < count; i += threads) out[i] = f(lost, in[i]...);
  }
  if (F::counts) add_count(lost_count, lost);
}

// The number of elements after which `data` is aligned to a pack of this width; `width` when it never is.
template <class T>
std::size_t elements_to_alignment(const T* data, std::size_t width) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  for (std::size_t head = 0; head < width; ++head)
    if ((address + head * sizeof(T)) % (width * sizeof(T)) == 0) return head;
  return width;
}

template <int width, class F, class Out, class... In>
void launch_transform(const char* name, F f, std::size_t count, std::size_t head, std::size_t* lost, Stream stream, Out* out,
                      const In*... in) {
  const std::size_t per_block = threads * packs_per_thread;
  const std::size_t blocks = std::max<std::size_t>(1, ((count - head) / width + per_block - 1) / per_block);
  transform_kernel<width><<<static_cast<unsigned>(blocks), threads, 0, stream>>>(f, count, head, lost, out, in...);
  check_launch(name);
}

}  // namespace detail

// F is called as f(std::uint32_t& lost, In...) and returns Out. Where F::counts, what it adds to `lost` is added to
// *lost_count, in device memory. `out` may equal an input; otherwise the arrays do not overlap.
template <class F, class Out, class... In>
void transform(const char* name, F f, std::size_t count, std::size_t* lost_count, Stream stream, Out* out, const In*... in) {
  if (count == 0) return;
  constexpr std::size_t width = 16 / std::max({sizeof(Out), sizeof(In)...});
  const std::size_t head = detail::elements_to_alignment(out, width);
  const bool aligned = head < width && ((detail::elements_to_alignment(in, width) == head) && ...);
  if (aligned && head < count)
    detail::launch_transform<static_cast<int>(width)>(name, f, count, head, lost_count, stream, out, in...);
  else
    detail::launch_transform<1>(name, f, count, 0, lost_count, stream, out, in...);
}

}  // namespace weft::cuda
