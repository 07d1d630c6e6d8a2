#include "validation/fit/without_model.hpp"

#include "validation/fit/testing.hpp"

#include <doctest/doctest.h>

namespace weft {
namespace {

TEST_CASE("without a model: between sizes it is what log-log interpolation between the fitted sizes misses") {
  Simulator simulator(open_pair({}).scenario());
  std::vector<Measurement> rows = measured_on(HardwareProfile{}, {1024, 4096, 16384, 65536});
  rows[0].time_us = 10, rows[1].time_us = 25, rows[2].time_us = 40, rows[3].time_us = 80;
  // Between 10 and 40 us the middle is 20 us, 20 % below 25 us; the last size lies between none.
  const ErrorSummary floor = summarise(interpolation_errors(usable(rows, simulator, {}).points));
  CHECK(floor.points == 1);
  CHECK(floor.median == doctest::Approx(0.2));
}

TEST_CASE("without a model: other numbers of ranks have the bus bandwidth of the nearest that was fitted, at sizes within its own") {
  const auto point = [](const char* collective, int ranks, std::int64_t size, double us, bool fitted) {
    FitPoint out{.measured = {.ranks = ranks, .collective = collective, .size_bytes = size},
                 .setup = {.collective = collective, .algorithm = {"ring"}, .ranks = ranks, .size = Bytes{size}},
                 .fitted = fitted};
    out.measured.time_us = us;
    return out;
  };
  const std::vector<FitPoint> points = {
      point("allreduce", 2, 1000, 10, true),   point("allreduce", 2, 4000, 40, true),    point("allreduce", 8, 1000, 70, true),
      point("allreduce", 8, 4000, 140, true),  point("allreduce", 16, 1000, 100, false), point("allreduce", 16, 2000, 100, false),
      point("allreduce", 4, 1000, 15, false),  point("allreduce", 16, 8000, 100, false), point("allgather", 16, 1000, 10, false),
      point("allreduce", 8, 2000, 100, false),
  };
  const auto errors = kept_bandwidth_errors(points);
  REQUIRE(errors.size() == points.size());
  for (std::size_t i = 0; i < 4; ++i) CHECK_FALSE(errors[i]);
  // 2 * 15/16 of the message over 2 * 7/8 of it: 15/14 of 70 us, and, half way by the logarithms, of 70 * sqrt(2).
  CHECK(*errors[4] == doctest::Approx(75.0 / 100 - 1));
  CHECK(*errors[5] == doctest::Approx(75 * std::sqrt(2.0) / 100 - 1));
  // 4 ranks are as near to 2 as to 8: the fewer, 2 * 3/4 over 1.
  CHECK(*errors[6] == doctest::Approx(0));
  CHECK_FALSE(errors[7]);  // a larger size than was fitted
  CHECK_FALSE(errors[8]);  // another collective
  CHECK_FALSE(errors[9]);  // a number of ranks that was fitted
}

}  // namespace
}  // namespace weft
