// For tests of what only calls kernels: those of the CPU, on the streams of the fake runtime.
#include "kernels/cuda/one_launch.hpp"
#include "kernels/cuda/reduce.hpp"
#include "kernels/reduce.hpp"
#include "kernels/testing/fake_cuda/runtime.hpp"
#include "kernels/testing/fiber.hpp"

#include <algorithm>
#include <memory>
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

// Its blocks take turns, and with those of the other ranks whenever the host asks.
void one_launch_allreduce(const OneLaunchCall& call, Shots shots, DType type, ReduceOp op, Stream stream) {
  with_type(type, [&]<class T>() {
    const auto block = [=](unsigned number) {
      test::FiberBlock own;
      OneLaunch<T, test::FiberBlock> work(own, call, number);
      if (op == ReduceOp::avg)
        work.template run<ReduceOp::sum>(shots, Average<T>(call.ranks));
      else
        work.template run<ReduceOp::sum>(shots, [](T sum) { return sum; });
    };
    const auto blocks = std::make_shared<std::vector<std::unique_ptr<test::Fiber>>>();
    fake_cuda::enqueue(stream, [=] {
      for (unsigned b = 0; blocks->size() < one_launch_blocks; ++b) blocks->push_back(std::make_unique<test::Fiber>([=] { block(b); }));
      for (const auto& b : *blocks)
        if (!b->ended()) b->resume();
      const bool done = std::ranges::all_of(*blocks, [](const auto& b) { return b->ended(); });
      if (done) blocks->clear();  // a graph begins anew
      return done;
    });
  });
}

}  // namespace weft::cuda
