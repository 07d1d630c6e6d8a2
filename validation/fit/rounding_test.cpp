#include "validation/fit/rounding.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace weft;

TEST_CASE("rounded numbers are written with as many digits as they have") {
  const auto written = [](double value) { return nlohmann::json(value).dump(); };
  CHECK(written(four_decimals(0.078812)) == "0.0788");  // 788 * 1e-4 would be 0.07880000000000001
  CHECK(written(three_digits(0.83012)) == "0.83");      // 83 * 0.01: 0.8300000000000001
  CHECK(written(three_digits(-0.0012345)) == "-0.00123");
  CHECK(three_digits(123456.0) == 123000);
  CHECK(three_digits(0) == 0);
  CHECK(three_digits(65536.0) == 65536);
}
