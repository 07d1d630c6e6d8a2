#include "sim/executor/gpu_memory.hpp"

#include "collectives/executors/stream/plan.hpp"
#include "collectives/registry/registry.hpp"
#include "sim/cases/testing.hpp"
#include "sim/experiment.hpp"

#include <doctest/doctest.h>

using namespace weft;

namespace {

constexpr std::int64_t elements = 5040, bytes_of_one = 4;  // for 2 to 10 ranks

Schedule allreduce_among(const char* name, int ranks) {
  return build({.collective = Collective::allreduce, .algorithm = name, .ranks = ranks});
}

// Of the operations that a real run enqueues.
struct OfPlan {
  std::int64_t summed = 0, moved = 0;  // by all sums: their bytes, and what they read and write
  std::int64_t homecoming = 0;         // of the rank with the most
};

OfPlan of_plan(const Schedule& schedule) {
  using Kind = StreamOperation::Kind;
  const StreamPlan plan = plan_streams(schedule, {.elements = elements});
  std::vector<std::int64_t> home(static_cast<std::size_t>(schedule.ranks));
  OfPlan out;
  for (const StreamOperation& o : plan.operations) {
    if (o.kind == Kind::reduce) out.summed += o.bytes, out.moved += 3 * o.bytes;
    if (o.kind == Kind::reduce_many) out.summed += (o.sources - 1) * o.bytes, out.moved += (o.sources + 1) * o.bytes;
    if (o.kind == Kind::copy && o.from.memory >= plan.ranks && plan.rank_of_memory(o.from.memory) == o.into.memory)
      home[static_cast<std::size_t>(o.into.memory)] += o.bytes;
  }
  out.homecoming = std::ranges::max(home);
  return out;
}

}  // namespace

TEST_CASE("memory of a GPU: what sums move and what comes home is what the plans of real runs do") {
  for (const char* name : {"ring", "halving_doubling", "recursive_doubling", "direct", "double_binary_tree"})
    for (const int ranks : {2, 4, 8}) {
      CAPTURE(name);
      CAPTURE(ranks);
      const Schedule schedule = allreduce_among(name, ranks);
      const GpuMemory told = gpu_memory(schedule, Bytes{elements * bytes_of_one});
      const OfPlan real = of_plan(schedule);
      CHECK(told.homecoming.count == real.homecoming);
      CHECK(told.of_sums == doctest::Approx(static_cast<double>(real.moved) / static_cast<double>(3 * real.summed)));
    }
}

TEST_CASE(
    "memory of a GPU: a step of recursive doubling moves the message three times, a ring's a part of it, and one of direct sums all at "
    "once") {
  constexpr Bytes message{elements * bytes_of_one};
  // Each rank reads two messages and writes their sum; after three steps it is in the second message.
  const GpuMemory doubling = gpu_memory(allreduce_among("recursive_doubling", 8), message);
  CHECK(doubling.of_step.count == 3 * message.count);
  CHECK(doubling.homecoming == message);
  CHECK(gpu_memory(allreduce_among("recursive_doubling", 4), message).homecoming.count == 0);  // after two in the first
  CHECK(gpu_memory(allreduce_among("ring", 8), message).of_step.count == 3 * message.count / 8);
  // Seven ranks' blocks and its own are read, and the sum is written: nine instead of three times seven.
  const GpuMemory direct = gpu_memory(allreduce_among("direct", 8), message);
  CHECK(direct.of_sums == doctest::Approx(9.0 / 21));
  CHECK(direct.of_step.count == 14 * message.count / 8);  // the all-gather's step: seven blocks, read and written
}

TEST_CASE("ranks that share a GPU have its cache and its memory between them, and add up what they read in place") {
  const auto us_of = [](const char* algorithm, const char* size) {
    const Json json = Json::parse(fmt::format(
        R"({{"schema": 1, "name": "one-gpu", "fabric": {{"type": "star", "nodes": 1, "link": {{"bandwidth": "100Gbps", "latency": "0s"}}}},
      "server": {{"preset": "shared_gpu", "ranks": 8}},
      "hardware": {{"profile": "ideal", "pcie_overhead": "1us", "reduce_rate": "16000Gbps", "reduce_rate_in_memory": "8000Gbps",
                   "copy_rate": "24000Gbps", "copy_rate_in_memory": "12000Gbps", "last_level_cache": "24MiB"}},
      "workload": {{"collective": "allreduce", "algorithm": "{}", "size": "{}", "ranks": 2}}}})",
        algorithm, size));
    const Scenario s = cases_of(json).front().scenario;
    return Experiment(s, s.workload.algorithms.front()).run(s.workload.sizes.front(), {}).time.microseconds();
  };
  // Two steps of half a message each. The first reads and writes 3 MiB of each rank, 6 of both: in the cache. Each rank has half of
  // 2 TB/s for its sum, and half of 3 TB/s for its copy.
  const double half = (1 << 20) / 1e6;  // in bytes of a microsecond at 1 TB/s
  CHECK(us_of("ring", "2MiB") == doctest::Approx(2 + half / 1 + half / 1.5).epsilon(1e-3));
  // 96 MiB of both, of which a quarter fits: three quarters go at half of those rates.
  CHECK(us_of("ring", "32MiB") == doctest::Approx(2 + 16 * (half / 1 + half / 1.5) * (0.25 + 0.75 * 2)).epsilon(1e-3));
  // One step whose sum, of the whole message, lands beside it, and one copy home.
  CHECK(us_of("recursive_doubling", "2MiB") == doctest::Approx(2 + 2 * half / 1 + 2 * half / 1.5).epsilon(1e-3));
}

TEST_CASE("a shared GPU: NCCL and networks that know no copies in its memory are refused") {
  const auto problems_of = [](const char* algorithm, const char* network) {
    return weft::lines_for(Json::parse(fmt::format(
        R"({{"schema": 1, "name": "one-gpu", "fabric": {{"type": "star", "nodes": 1, "link": {{"bandwidth": "100Gbps", "latency": "0s"}}}},
      "server": "shared_gpu", "network": "{}", "workload": {{"collective": "allreduce", "algorithm": "{}", "size": "1MiB", "ranks": 2}}}})",
        network, algorithm)));
  };
  CHECK(problems_of("ring", "packet").empty());
  CHECK(problems_of("nccl", "flow").front().find("nccl needs a GPU for each rank, and these share one (\"shared_gpu\")") !=
        std::string::npos);
  CHECK(problems_of("ring", "simgrid")
            .front()
            .find(R"("simgrid" knows no copies in the memory of a GPU: the server "shared_gpu" needs "flow" and "packet")") !=
        std::string::npos);
}
