#include "models/compressed_allreduce.hpp"

#include "models/training/device.hpp"

#include <doctest/doctest.h>

using namespace weft;
using namespace weft::literals;

namespace {

// One nanosecond for a unit of work of every kernel.
KernelRates slow() {
  KernelRates rates{.name = "slow", .source = "made up", .launch = {}, .work_per_second = {}};
  rates.work_per_second.fill(1e9);
  return rates;
}

CompressedAllreduce of(std::string name, int ranks) { return {{.name = std::move(name)}, {.algorithm = "ring", .ranks = ranks}, slow()}; }

SimTime in_kernels(const Program& program, Rank rank) {
  SimTime sum;
  for (const Operation& o : program.of_rank(rank)) sum += o.duration;
  return sum;
}

}  // namespace

TEST_CASE("compressed all-reduce: its program has the plan's exchanges in order, and is sound") {
  for (const int ranks : {1, 2, 3, 8, 17})
    for (const std::string_view name : compression_names()) {
      CAPTURE(ranks);
      CAPTURE(name);
      const CompressedAllreduce all = of(std::string(name), ranks);
      const Program program = all.program(10'000);
      CHECK(problems(program).empty());
      std::vector<std::int64_t> planned, called;
      for (const Phase& phase : all.plan(10'000).phases)
        if (const auto* exchange = std::get_if<Exchange>(&phase)) planned.push_back(exchange->bytes());
      for (const Call& call : program.calls) called.push_back(call.elements * call.element_bytes);
      CHECK(called == planned);
    }
}

TEST_CASE("compressed all-reduce: the root recovers, and all others wait for it at the next exchange") {
  const Program program = of("gs_sgd", 4).program(10'000);
  // Check 10, accumulate 10, insert 50, gather 0.1 and apply 10 us on all ranks; estimate 50 and choose 10 us on the root.
  CHECK(in_kernels(program, 1) == 80'100_ns);
  CHECK(in_kernels(program, 0) == 140'100_ns);
  CHECK(of("gs_sgd", 4).compressing(10'000) == 140'100_ns);
}

TEST_CASE("compressed all-reduce: lists are merged in a time of their own, sketches are added at the hardware's rate") {
  const Program lists = of("gtopk", 4).program(10'000), sketches = of("gs_sgd", 4).program(10'000);
  CHECK(lists.calls.front().reduction == 200_ns);  // two lists of 100
  // Check, accumulate, choose and apply 10 us each; rank 0 merges twice.
  CHECK(of("gtopk", 4).compressing(10'000) == 40'400_ns);
  CHECK(!lists.calls.back().reduction);
  CHECK(!sketches.calls.front().reduction);
}

TEST_CASE("compressed all-reduce: a count that a small gradient does not have stands for all of it") {
  const CompressedAllreduce all({.name = "gtopk", .k = Amount::exactly(1000)}, {.ranks = 2}, slow());
  CHECK(all.plan(10'000).k == 1000);
  CHECK(all.plan(10).k == 10);
  const CompressedAllreduce in_sketch({.k = Amount::of_all(0.1), .memory = ErrorMemory::sketch}, {.ranks = 2}, slow());
  CHECK(in_sketch.plan(15).k == 2);
  CHECK(in_sketch.plan(5).k == 1);
}

TEST_CASE("kernel rates of a GPU: what its memory moves, or what was measured") {
  DeviceProfile device{.name = "gpu", .memory_bandwidth = 1000_GBps, .memory_efficiency = 0.8, .launch = 5_us};
  // 8e11 bytes a second: 12 bytes for each element accumulated, 64 for each counter at a random place.
  CHECK(kernel_rates(device).time({Kernel::accumulate, 1'000'000}) == 5_us + 15_us);
  CHECK(kernel_rates(device).time({Kernel::sketch_insert, 1'000'000}) == 5_us + 80_us);
  device.kernels["accumulate"] = 1e9;
  CHECK(kernel_rates(device).time({Kernel::accumulate, 1'000'000}) == 5_us + 1_ms);
  device.kernels["accumulate"] = 0;
  CHECK(problems(device).size() > 0);
}
