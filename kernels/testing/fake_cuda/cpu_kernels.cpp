// For tests of what only calls kernels: those of the CPU, on the streams of the fake runtime.
#include "kernels/cuda/reduce.hpp"
#include "kernels/reduce.hpp"
#include "kernels/testing/fake_cuda/runtime.hpp"

#include <vector>

namespace weft::cuda {

void reduce(DType type, ReduceOp op, void* into, const void* from, std::size_t count, Stream stream) {
  fake_cuda::enqueue(stream, [=] { return weft::reduce(type, op, into, from, count), true; });
}

void reduce_many(DType type, ReduceOp op, void* out, std::span<const void* const> in, std::size_t count, Stream stream) {
  fake_cuda::enqueue(
      stream, [=, all = std::vector<const void*>(in.begin(), in.end())] { return weft::reduce_many(type, op, out, all, count), true; });
}

void scale_average(DType type, void* data, std::size_t count, int ranks, Stream stream) {
  fake_cuda::enqueue(stream, [=] { return weft::scale_average(type, data, count, ranks), true; });
}

}  // namespace weft::cuda
