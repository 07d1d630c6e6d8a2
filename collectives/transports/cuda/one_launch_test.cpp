// All-reduces of one launch: on the GPUs that there are, and where a host plays them.
#include "collectives/transports/cuda/one_launch.hpp"

#include "collectives/executors/reference.hpp"
#include "kernels/testing/gpu.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;

namespace {

struct Case {
  int ranks;
  std::int64_t elements;
  DType dtype;
  ReduceOp op;
};

// What is wrong after several calls by turns, some replayed as a graph where each rank has a device.
std::string fault_of(const Case& c) {
  const Schedule s{.name = "one launch", .collective = Collective::allreduce, .ranks = c.ranks, .chunks = c.ranks};
  const std::vector<int> devices = cuda::devices_of_ranks(c.ranks, cuda::device_count());
  cuda::Executor executor({.devices = devices});
  executor.prepare(plan_streams(s, {.elements = c.elements, .dtype = c.dtype, .op = c.op}));
  std::vector<std::byte> memory(buffer_bytes(s, c.elements, c.dtype));
  const Buffer buffer{{.elements = c.elements, .chunks = s.chunks}, c.dtype, memory.data()};
  cuda::OneLaunchWorld world(devices, memory.size());
  const bool graphs = std::cmp_equal(cuda::device_count(), c.ranks);
  for (const Shots shots : {Shots::one, Shots::two, Shots::two, Shots::one, Shots::one}) {
    executor.replace([&] { world.enqueue(shots, c.dtype, c.op, c.elements, executor); });
    for (const bool graph : {false, true}) {
      if (graph && !graphs) continue;
      if (graph) executor.capture();
      for (Rank r = 0; r < c.ranks; ++r) fill(s, c.op, {}, r, buffer), executor.write(r, memory);
      executor.run();
      for (Rank r = 0; r < c.ranks; ++r) {
        executor.read(r, memory);
        const RankResult result{r, buffer};
        if (const Verdict v = verify(s, c.op, {}, std::span(&result, 1)); v.wrong > 0) return v.first_wrong;
      }
    }
  }
  return {};
}

}  // namespace

TEST_CASE("one launch: every size and type, in one shot and in two, by turns on the same memory") {
  if (test::no_gpu()) return;
  const cuda::Executor all({.devices = cuda::devices_of_ranks(8, cuda::device_count())});
  if (!cuda::OneLaunchWorld::obstacle(cuda::devices_of_ranks(8, cuda::device_count()), all).empty()) {
    MESSAGE("skipped: the devices cannot read each other's memory");
    return;
  }
  for (const int ranks : {1, 2, 3, 8})
    for (const std::int64_t elements : {0, 1, 5, 1003, 40'001}) {
      CAPTURE(ranks);
      CAPTURE(elements);
      CHECK(fault_of({ranks, elements, DType::float32, ReduceOp::sum}) == "");
      CHECK(fault_of({ranks, elements, DType::bfloat16, ReduceOp::avg}) == "");
      CHECK(fault_of({ranks, elements, DType::int64, ReduceOp::avg}) == "");
      CHECK(fault_of({ranks, elements, DType::uint8, ReduceOp::sum}) == "");
    }
}

TEST_CASE("one launch: more ranks than there are places for, and devices that cannot read each other, are named") {
  if (test::no_gpu()) return;
  const std::vector<int> many(17, 0);
  const cuda::Executor executor({.devices = many});
  CHECK(cuda::OneLaunchWorld::obstacle(many, executor) == "has at most 16 ranks, got 17");
  if (cuda::device_count() != 2) return;
  const cuda::Executor two({.devices = {0, 1}});
  const std::string why = cuda::OneLaunchWorld::obstacle({0, 1}, two);
  CHECK((two.reads(0, 1) || why == "needs peer access between all GPUs, and rank 0 cannot read the memory of rank 1"));
}
