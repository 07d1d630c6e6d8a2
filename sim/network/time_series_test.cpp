#include "sim/network/time_series.hpp"

#include <algorithm>
#include <numeric>

#include <doctest/doctest.h>

using namespace weft;

namespace {

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

}  // namespace

TEST_CASE("a series of amounts keeps their sum, and when they were, however long the run gets") {
  TimeSeries series(TimeSeries::Of::amount);
  series.add(0_us, 1_us, 100);
  series.add(1_us, 3_us, 100);
  series.add(900_us, 1000_us, 50);
  const SimTime width = common_width({&series}, 1000_us);
  CHECK(width == series.width());
  CHECK(1000_us <= width * static_cast<int>(TimeSeries::max_intervals));
  CHECK(width * static_cast<int>(TimeSeries::max_intervals / 4) < 1000_us);
  const auto values = series.over(width, 1000_us);
  CHECK(sum(values) == doctest::Approx(250));
  // The width is 2^k * 4.096 ns, here 2.097 us: the first interval has 100 and 1.097 / 2 of the second 100.
  CHECK(values[0] == doctest::Approx(100 + 100 * (static_cast<double>(width.ps) / 1e6 - 1) / 2));
  CHECK(values[300] == 0);
}

TEST_CASE("a series of levels has the highest of each interval, and holds the last") {
  TimeSeries series(TimeSeries::Of::level);
  series.set(1_us, 5);
  series.set(SimTime{1'000'100}, 9);
  series.set(SimTime{1'000'200}, 2);
  const auto values = series.over(series.width(), 4_us);
  CHECK(values.front() == 0);
  CHECK(*std::ranges::max_element(values) == 9);
  CHECK(values.back() == 2);
  series.set(900_us, 3);
  const auto wide = series.over(common_width({&series}, 1000_us), 1000_us);
  CHECK(wide[0] == 9);
  CHECK(wide[100] == 2);
  CHECK(wide.back() == 3);
}
