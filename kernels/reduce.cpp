#include "kernels/reduce.hpp"

#include "kernels/reduce_ops.hpp"

namespace weft {

void reduce_into(InstructionSet set, DType type, ReduceOp op, void* out, const void* a, const void* b, std::size_t count) {
  with_type_and_op(type, op, [&]<class T, ReduceOp operation>() {
    T* o = static_cast<T*>(out);
    const T* x = static_cast<const T*>(a);
    const T* y = static_cast<const T*>(b);
    vectorised(set, [=]() WEFT_INLINE {
      WEFT_INDEPENDENT
      for (std::size_t i = 0; i < count; ++i) o[i] = narrow<T>(combine<operation>(widen(x[i]), widen(y[i])));
    });
  });
}

void reduce_into(DType type, ReduceOp op, void* out, const void* a, const void* b, std::size_t count) {
  reduce_into(instruction_sets().back(), type, op, out, a, b, count);
}

void reduce(DType type, ReduceOp op, void* into, const void* from, std::size_t count) { reduce_into(type, op, into, into, from, count); }

void scale_average(DType type, void* data, std::size_t count, int ranks) {
  check(ranks >= 1, "an average over {} ranks", ranks);
  with_type(type, [&]<class T>() {
    T* d = static_cast<T*>(data);
    vectorised([=]() WEFT_INLINE {
      WEFT_INDEPENDENT
      for (std::size_t i = 0; i < count; ++i) d[i] = divide(d[i], ranks);
    });
  });
}

}  // namespace weft
