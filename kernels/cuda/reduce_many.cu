#include "kernels/cuda/reduce.hpp"
#include "kernels/cuda/transform.cuh"
#include "kernels/reduce_ops.hpp"

#include <array>

namespace weft::cuda {
namespace {

constexpr int max_sources = 8;  // of one launch
constexpr int max_packs = 8;    // in a thread's registers at once: of few sources several each

template <class T>
struct Sources {
  const T* data[max_sources];
  int count;
};

// All that a thread reads, of up to `most` sources, is asked for before the first is used. Elements before `head` and after the last full
// pack are done one by one, by the first block.
template <ReduceOp op, int most, class T>
__global__ void __launch_bounds__(detail::threads) reduce_many_kernel(T* out, Sources<T> in, std::size_t count, std::size_t head) {
  constexpr int width = 16 / sizeof(T), turns = max_packs / most;
  using Pack = detail::Pack<T, width>;
  const auto sum = [](T a, T b) { return narrow<T>(combine<op>(widen(a), widen(b))); };
  const std::size_t packs = (count - head) / width;
  const std::size_t first = std::size_t{blockIdx.x} * (detail::threads * turns) + threadIdx.x;
  Pack loaded[turns][most];
#pragma unroll
  for (int turn = 0; turn < turns; ++turn)
#pragma unroll
    for (int s = 0; s < most; ++s)
      if (const std::size_t i = first + turn * detail::threads; i < packs && s < in.count)
        loaded[turn][s] = reinterpret_cast<const Pack*>(in.data[s] + head)[i];
#pragma unroll
  for (int turn = 0; turn < turns; ++turn) {
    const std::size_t i = first + turn * detail::threads;
    if (i >= packs) break;
#pragma unroll
    for (int s = 1; s < most; ++s)
      if (s < in.count)
#pragma unroll
        for (int e = 0; e < width; ++e) loaded[turn][0].element[e] = sum(loaded[turn][0].element[e], loaded[turn][s].element[e]);
    reinterpret_cast<Pack*>(out + head)[i] = loaded[turn][0];
  }
  if (blockIdx.x > 0) return;
  const auto one = [&](std::size_t at) {
    T acc = in.data[0][at];
    for (int s = 1; s < in.count; ++s) acc = sum(acc, in.data[s][at]);
    out[at] = acc;
  };
  for (std::size_t at = threadIdx.x; at < head; at += detail::threads) one(at);
  for (std::size_t at = head + packs * width + threadIdx.x; at < count; at += detail::threads) one(at);
}

template <ReduceOp op, int most, class T>
void launch(T* out, const Sources<T>& in, std::size_t count, std::size_t head, Stream stream) {
  constexpr std::size_t per_block = detail::threads * (max_packs / most);
  const std::size_t packs = (count - head) * sizeof(T) / 16;
  const std::size_t blocks = std::max<std::size_t>(1, (packs + per_block - 1) / per_block);
  const auto kernel = &reduce_many_kernel<op, most, T>;
  kernel<<<static_cast<unsigned>(blocks), detail::threads, 0, stream>>>(out, in, count, head);
  check_launch("reduce_many");
}

}  // namespace

void reduce_many(DType type, ReduceOp op, void* out, std::span<const void* const> in, std::size_t count, Stream stream) {
  check(in.size() >= 2, "a reduction of {} buffers", in.size());
  if (count == 0) return;
  with_type_and_op(type, op, [&]<class T, ReduceOp operation>() {
    constexpr std::size_t width = 16 / sizeof(T);
    T* const to = static_cast<T*>(out);
    const std::size_t head = detail::elements_to_alignment(to, width);
    bool aligned = head < width && head < count;
    for (const void* from : in) aligned = aligned && detail::elements_to_alignment(static_cast<const T*>(from), width) == head;
    std::span<const void* const> rest = in;
    if (in.size() == 2 || !aligned) {  // the latter element by element, two at a time
      reduce_into(type, op, out, in[0], in[1], count, stream);
      for (const void* from : in.subspan(2)) reduce(type, op, out, from, count, stream);
      return;
    }
    for (bool first = true; !rest.empty(); first = false) {
      Sources<T> some{};
      if (!first) some.data[some.count++] = to;
      for (; some.count < max_sources && !rest.empty(); rest = rest.subspan(1))
        some.data[some.count++] = static_cast<const T*>(rest.front());
      if (some.count <= max_sources / 2)
        launch<operation, max_sources / 2>(to, some, count, head, stream);
      else
        launch<operation, max_sources>(to, some, count, head, stream);
    }
  });
}

}  // namespace weft::cuda
