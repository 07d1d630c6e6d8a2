#include "kernels/compression/quantise.hpp"

#include "kernels/half.hpp"
#include "kernels/testing/backend.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;
using test::backends;

namespace {

constexpr auto int_max = std::numeric_limits<std::int32_t>::max();
constexpr auto int_min = std::numeric_limits<std::int32_t>::min();
using Ints = std::vector<std::int32_t>;

struct Quantised {
  Ints fixed;
  std::size_t overflowed;
  bool operator==(const Quantised&) const = default;
};

Quantised quantised(const test::Backend& on, DType type, double scale, const void* values, std::size_t count) {
  Quantised q{Ints(count), 0};
  q.overflowed = on.quantise(type, {scale}, values, q.fixed);
  return q;
}

}  // namespace

TEST_CASE("fixed point rounds to nearest, ties to even") {
  const std::vector<float> values{0, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 0.499999f, -2.75f, 1e6f};
  for (const auto& on : backends()) {
    CAPTURE(on.name);
    CHECK(quantised(on, DType::float32, 1, values.data(), values.size()) == Quantised{{0, 0, 2, 2, 0, -2, 0, -3, 1000000}, 0});
  }
}

TEST_CASE("what does not fit is saturated and counted, and so is a NaN") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> values{2147483647.0, 2147483647.25, -2147483647.0, -2147483647.25, 2147483647.5, -2147483648.0, 1e300, inf,
                                   -inf,         nan,           -nan};
  const Ints fixed{int_max, int_max, -int_max, -int_max, int_max, -int_max, int_max, int_max, -int_max, int_max, -int_max};
  const Quantised expected{fixed, 7};
  for (const auto& on : backends()) {
    CAPTURE(on.name);
    CHECK(quantised(on, DType::float64, 1, values.data(), values.size()) == expected);
    const float large = 21.5f;  // 2.15e9 at a scale of 1e8
    CHECK(quantised(on, DType::float32, 1e8, &large, 1) == Quantised{{int_max}, 1});
    const float16 infinite{0x7c00};
    CHECK(quantised(on, DType::float16, 1, &infinite, 1) == Quantised{{int_max}, 1});
  }
}

TEST_CASE("a value comes back within half a step, plus the rounding of its type") {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<float> uniform(-8, 8);
  constexpr std::size_t count = 9001;
  std::vector<float> values(count), back(count);
  for (float& v : values) v = uniform(random);
  for (const auto& on : backends())
    for (double scale : {1e2, 1e8, 0x1p20}) {
      CAPTURE(on.name);
      CAPTURE(scale);
      const Quantised q = quantised(on, DType::float32, scale, values.data(), count);
      on.dequantise(DType::float32, {scale}, q.fixed, back.data());
      CHECK(q.overflowed == 0);
      double worst = 0;
      for (std::size_t i = 0; i < count; ++i)
        worst = std::max(worst, std::abs(double{back[i]} - double{values[i]}) - std::abs(values[i]) * 0x1p-23);
      CHECK(worst <= 0.5 / scale);
    }
}

TEST_CASE("16-bit floats go through fixed point unchanged when the scale resolves them") {
  std::vector<float16> halves;
  std::vector<bfloat16> brains;
  for (int i = -2048; i <= 2048; i += 7) halves.push_back(to_float16(static_cast<float>(i) / 256));
  for (int i = -256; i <= 256; i += 3) brains.push_back(to_bfloat16(static_cast<float>(i) / 64));
  for (const auto& on : backends()) {
    CAPTURE(on.name);
    const Quantised h = quantised(on, DType::float16, 256, halves.data(), halves.size());
    const Quantised b = quantised(on, DType::bfloat16, 64, brains.data(), brains.size());
    CHECK(h.overflowed + b.overflowed == 0);
    std::vector<float16> h_back(halves.size());
    std::vector<bfloat16> b_back(brains.size());
    on.dequantise(DType::float16, {256}, h.fixed, h_back.data());
    on.dequantise(DType::bfloat16, {64}, b.fixed, b_back.data());
    CHECK(h_back == halves);
    CHECK(b_back == brains);
  }
}

TEST_CASE("all backends give the same integers and floats, for any bits") {
  constexpr std::size_t count = 10007;
  std::mt19937 random(9);
  std::vector<std::uint32_t> bits(count);
  for (auto& b : bits) b = static_cast<std::uint32_t>(random());
  const Quantised expected = quantised(backends()[0], DType::float32, 1e4, bits.data(), count);
  CHECK(expected.overflowed > 1000);
  for (const auto& on : backends()) {
    CAPTURE(on.name);
    CHECK(quantised(on, DType::float32, 1e4, bits.data(), count) == expected);
    std::vector<float> back(count), expected_back(count);
    on.dequantise(DType::float32, {1e4}, expected.fixed, back.data());
    backends()[0].dequantise(DType::float32, {1e4}, expected.fixed, expected_back.data());
    CHECK(back == expected_back);
  }
}

TEST_CASE("fixed-point sums saturate at both ends and are counted") {
  const Ints from{1, 1, -1, 5, int_max, int_min, int_min, 0};
  for (const auto& on : backends()) {
    CAPTURE(on.name);
    Ints into{2, int_max, int_min, -7, int_max, int_min, int_max, int_max};
    CHECK(on.add_saturating(into, from) == 4);
    CHECK(into == Ints{3, int_max, int_min, -2, int_max, int_min, -1, int_max});
  }
}

TEST_CASE("overflows are counted beyond one block, and nothing at all is nothing") {
  constexpr std::size_t count = 3 * 4096 + 1;
  const std::vector<float> values(count, -1e10f);
  for (const auto& on : backends()) {
    CAPTURE(on.name);
    CHECK(quantised(on, DType::float32, 1, values.data(), count) == Quantised{Ints(count, -int_max), count});
    Ints into(count, int_max);
    CHECK(on.add_saturating(into, Ints(count, 1)) == count);
    CHECK(quantised(on, DType::float32, 1, nullptr, 0) == Quantised{{}, 0});
  }
}

TEST_CASE("a wrong type, scale or size is our own bug") {
  Ints one(1), two(2);
  std::size_t lost = 0;
  CHECK_THROWS_WITH_AS(lost = quantise(DType::int32, {1}, one.data(), one), "internal error: int32 is no floating-point type",
                       std::logic_error);
  CHECK_THROWS_WITH_AS(dequantise(DType::float32, {0}, one, one.data()), "internal error: a fixed-point scale of 0", std::logic_error);
  CHECK_THROWS_WITH_AS(lost = add_saturating(one, two), "internal error: 2 fixed-point values added to 1", std::logic_error);
  CHECK(lost == 0);
}
