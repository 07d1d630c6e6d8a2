#include "kernels/reduce.hpp"

#include "kernels/half_block.hpp"
#include "kernels/reduce_ops.hpp"

#include <algorithm>

namespace weft {
namespace {

template <ReduceOp op, class T>
void loop(InstructionSet set, T* out, const T* a, const T* b, std::size_t count) {
  vectorised(set, [=]() WEFT_INLINE {
    WEFT_INDEPENDENT
    for (std::size_t i = 0; i < count; ++i) out[i] = narrow<T>(combine<op>(widen(a[i]), widen(b[i])));
  });
}

// float16 goes through blocks of float32 that stay in the cache: converting is the work, and half_block does it fast.
template <ReduceOp op>
void loop(InstructionSet set, float16* out, const float16* a, const float16* b, std::size_t count) {
  constexpr std::size_t block = 512;
  alignas(64) float x[block], y[block];
  for (std::size_t begin = 0; begin < count; begin += block) {
    const std::size_t n = std::min(block, count - begin);
    to_floats(set, a + begin, x, n);
    to_floats(set, b + begin, y, n);
    loop<op>(set, x, x, y, n);
    to_float16s(set, x, out + begin, n);
  }
}

}  // namespace

void reduce_into(InstructionSet set, DType type, ReduceOp op, void* out, const void* a, const void* b, std::size_t count) {
  with_type_and_op(type, op, [&]<class T, ReduceOp operation>() {
    loop<operation>(set, static_cast<T*>(out), static_cast<const T*>(a), static_cast<const T*>(b), count);
  });
}

void reduce_into(DType type, ReduceOp op, void* out, const void* a, const void* b, std::size_t count) {
  reduce_into(instruction_sets().back(), type, op, out, a, b, count);
}

void reduce(DType type, ReduceOp op, void* into, const void* from, std::size_t count) { reduce_into(type, op, into, into, from, count); }

void reduce_many(DType type, ReduceOp op, void* out, std::span<const void* const> in, std::size_t count) {
  check(in.size() >= 2, "a reduction of {} buffers", in.size());
  reduce_into(type, op, out, in[0], in[1], count);
  for (const void* from : in.subspan(2)) reduce(type, op, out, from, count);
}

void scale_average(DType type, void* data, std::size_t count, int ranks) {
  check(ranks >= 1, "an average over {} ranks", ranks);
  with_type(type, [&]<class T>() {
    T* d = static_cast<T*>(data);
    with_average<T>(ranks, [=](auto average) {
      vectorised([=]() WEFT_INLINE {
        WEFT_INDEPENDENT
        for (std::size_t i = 0; i < count; ++i) d[i] = average(d[i]);
      });
    });
  });
}

}  // namespace weft
