#include "validation/workload/steps_table.hpp"

#include "kernels/base/error.hpp"

#include <doctest/doctest.h>

namespace weft {
namespace {

Row row(const char* engine, SimTime time, SimTime compute) {
  return {.scenario = "small",
          .algorithm = "ring(channels=2, pieces=4)",
          .ranks = 6,
          .time = time,
          .training = TrainingResult{.model = "net", .engine = engine, .batch_per_gpu = 4, .compute = compute, .exposed = time - compute}};
}

}  // namespace

TEST_CASE("steps: what a table of real steps says is read again, names with spaces included") {
  const std::string table = to_table({row("ddp", 1500_us, 1200_us), row("aiacc(streams=4)", 2'500'250_us, 2_s)}, {"tcp", 5});
  const std::vector<MeasuredStep> steps = read_steps("# case: batch=4\n" + table);
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].step_us == 1500);
  CHECK(steps[0].compute_us == 1200);
  CHECK(steps[1].step_us == 2'500'250);
  CHECK(steps[1].compute_us == 2'000'000);
}

TEST_CASE("steps: a line that is no row is an error, with the line") {
  CHECK_THROWS_WITH_AS(read_steps("  ddp, ring  12.0\n"), "no row of a table of steps:   ddp, ring  12.0", RunError);
  CHECK_THROWS_WITH_AS(read_steps("ddp, ring a b c d e f g\n"), "no row of a table of steps: ddp, ring a b c d e f g", RunError);
}

}  // namespace weft
