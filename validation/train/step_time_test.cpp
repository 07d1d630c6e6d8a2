#include "validation/train/step_time.hpp"

#include "sim/cases/cases.hpp"

#include <doctest/doctest.h>

using namespace weft;
using namespace weft::train;

namespace {

Scenario star(const std::string& bandwidth) {
  const std::string file = std::string(WEFT_SCENARIOS) + "/this_machine.json";
  return load_cases(file, {parse_setting("/fabric/link/bandwidth=" + bandwidth), parse_setting("/fabric/link/latency=1us"),
                           parse_setting("/hardware=ideal")})
      .front()
      .scenario;
}

const KernelRates no_time = {};

}  // namespace

TEST_CASE("a dense step is its all-reduce") {
  // Halving-doubling of 8 MB on 4 ranks: 4 steps of two hops, 2 x 3/4 of the message at 100 Gb/s: 8 us + 960 us.
  const StepTime step = simulated_step(plan({.name = "dense"}, 2'000'000, 4), 3_ms, no_time, star("100Gbps"));
  CHECK(step.gradient == 3_ms);
  CHECK(step.kernels == SimTime{});
  CHECK(step.exchanges == 968_us);
  CHECK(step.total() == 3968_us);
}

TEST_CASE("a step of gs_sgd is its table up the tree, its indices down and its values around") {
  const CompressionPlan p = plan({.columns = Amount::exactly(50'000), .k = Amount::exactly(10'000)}, 1'000'000, 4);
  // Two levels of 1 MB at 80 us and 2 us of latency; two of 40 kB at 3.2 us; 1.5 x 40 kB in four steps.
  CHECK(simulated_step(p, {}, no_time, star("100Gbps")).exchanges == 164_us + 10'400_ns + 12'800_ns);
  CHECK(simulated_step(p, {}, no_time, star("10Gbps")).exchanges > 9 * 164_us);
}

TEST_CASE("kernels take their work at their rates, and merges of gtopk once for each level of the tree") {
  KernelRates rates{.name = "test", .source = "made up", .launch = 1_us, .work_per_second = {}};
  rates.work_per_second[static_cast<std::size_t>(Kernel::sketch_insert)] = 1e9;
  CHECK(rates.time(LocalWork{Kernel::sketch_insert, 5'000}) == 6_us);
  CHECK(rates.time(LocalWork{Kernel::top_k, 5'000}) == 1_us);
  CHECK(rates.time(plan({.name = "gtopk"}, 1000, 1)) == 4_us);
  CHECK(rates.time(plan({.name = "gtopk"}, 1000, 5)) == 7_us);
}

TEST_CASE("more ranks than the fabric has endpoints are refused") {
  CHECK_THROWS_WITH_AS(simulated_step(plan({.name = "dense"}, 100, 5), {}, no_time, star("1Gbps")),
                       "--ranks: must be at most 4, the endpoints of the scenario's fabric, got 5", InputError);
}
