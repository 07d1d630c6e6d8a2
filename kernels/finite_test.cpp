#include "kernels/finite.hpp"

#include "kernels/half.hpp"
#include "kernels/testing/backend.hpp"

#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;
using test::backends;

namespace {

// A gradient of finite values with some of its elements replaced.
template <class T>
std::vector<T> gradient(std::size_t count, T finite, std::vector<std::pair<std::size_t, T>> replaced) {
  std::vector<T> values(count, finite);
  for (const auto& [index, value] : replaced) values[index] = value;
  return values;
}

}  // namespace

TEST_CASE("NaNs and infinities are counted apart, in every floating-point type") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const double wide_inf = std::numeric_limits<double>::infinity(), wide_nan = std::numeric_limits<double>::quiet_NaN();
  constexpr std::size_t n = 5000;
  const auto half = gradient<float16>(n, {0x7bff}, {{0, {0x7c00}}, {17, {0xfc00}}, {4999, {0x7c01}}});
  const auto brain = gradient<bfloat16>(n, {0x7f7f}, {{0, {0x7f80}}, {17, {0xff80}}, {4999, {0xffff}}});
  const auto single = gradient<float>(n, std::numeric_limits<float>::max(), {{0, inf}, {17, -inf}, {4999, nan}});
  const auto wide = gradient<double>(n, std::numeric_limits<double>::lowest(), {{0, wide_inf}, {17, -wide_inf}, {4999, -wide_nan}});
  for (const auto& on : backends()) {
    CAPTURE(on.name);
    const NonFinite expected{.nans = 1, .infinities = 2};
    CHECK(on.count_nonfinite(DType::float16, half.data(), n) == expected);
    CHECK(on.count_nonfinite(DType::bfloat16, brain.data(), n) == expected);
    CHECK(on.count_nonfinite(DType::float32, single.data(), n) == expected);
    CHECK(on.count_nonfinite(DType::float64, wide.data(), n) == expected);
    CHECK(on.count_nonfinite(DType::float32, single.data() + 1, 16) == NonFinite{});
    CHECK(on.count_nonfinite(DType::float32, nullptr, 0) == NonFinite{});
  }
}

TEST_CASE("integers are finite, whatever their bits") {
  const std::vector<std::int32_t> values(100, 0x7f800000);
  for (const auto& on : backends()) CHECK(on.count_nonfinite(DType::int32, values.data(), values.size()) == NonFinite{});
}

TEST_CASE("a gradient of nothing but NaNs is counted to the last one") {
  constexpr std::size_t n = 200'000;  // more than 16 bits hold
  const std::vector<float16> values(n, float16{0x7e00});
  for (const auto& on : backends()) CHECK(on.count_nonfinite(DType::float16, values.data(), n) == NonFinite{.nans = n});
}
