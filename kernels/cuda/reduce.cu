#include "kernels/cuda/reduce.hpp"
#include "kernels/cuda/transform.cuh"
#include "kernels/reduce_ops.hpp"

namespace weft::cuda {
namespace {

template <class T, ReduceOp op>
struct Combine {
  static constexpr bool counts = false;
  __device__ T operator()(std::uint32_t&, T a, T b) const { return narrow<T>(combine<op>(widen(a), widen(b))); }
};

template <class T, class Averages>
struct Divide {
  static constexpr bool counts = false;
  Averages average;
  __device__ T operator()(std::uint32_t&, T sum) const { return average(sum); }
};

}  // namespace

void reduce_into(DType type, ReduceOp op, void* out, const void* a, const void* b, std::size_t count, Stream stream) {
  with_type_and_op(type, op, [&]<class T, ReduceOp operation>() {
    transform("reduce_into", Combine<T, operation>{}, count, nullptr, stream, static_cast<T*>(out), static_cast<const T*>(a),
              static_cast<const T*>(b));
  });
}

void reduce(DType type, ReduceOp op, void* into, const void* from, std::size_t count, Stream stream) {
  reduce_into(type, op, into, into, from, count, stream);
}

void scale_average(DType type, void* data, std::size_t count, int ranks, Stream stream) {
  check(ranks >= 1, "an average over {} ranks", ranks);
  with_type(type, [&]<class T>() {
    T* const all = static_cast<T*>(data);
    with_average<T>(ranks, [&]<class Averages>(const Averages& average) {
      transform("scale_average", Divide<T, Averages>{average}, count, nullptr, stream, all, static_cast<const T*>(all));
    });
  });
}

}  // namespace weft::cuda
