#include "kernels/half.hpp"

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include <doctest/doctest.h>

using namespace weft;

namespace {

// The definition of float16, by way of double arithmetic.
double value_of(float16 h) {
  const int exponent = (h.bits >> 10) & 31;
  const int fraction = h.bits & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return h.bits & 0x8000 ? -magnitude : magnitude;
}

bool is_nan(float16 h) { return (h.bits & 0x7fff) > 0x7c00; }
bool is_nan(bfloat16 b) { return (b.bits & 0x7fff) > 0x7f80; }

constexpr float infinity = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("float16: every pattern has the value its fields say, and comes back from float32 unchanged") {
  for (int bits = 0; bits <= 0xffff; ++bits) {
    const float16 h{static_cast<std::uint16_t>(bits)};
    CAPTURE(bits);
    if (is_nan(h)) {
      REQUIRE(std::isnan(to_float(h)));
      REQUIRE(is_nan(to_float16(to_float(h))));
      continue;
    }
    if ((bits & 0x7fff) == 0x7c00)
      REQUIRE(to_float(h) == (bits & 0x8000 ? -infinity : infinity));
    else
      REQUIRE(static_cast<double>(to_float(h)) == value_of(h));
    REQUIRE(to_float16(to_float(h)) == h);
  }
}

TEST_CASE("bfloat16: every pattern comes back from float32 unchanged") {
  for (int bits = 0; bits <= 0xffff; ++bits) {
    const bfloat16 b{static_cast<std::uint16_t>(bits)};
    CAPTURE(bits);
    if (is_nan(b))
      REQUIRE(is_nan(to_bfloat16(to_float(b))));
    else
      REQUIRE(to_bfloat16(to_float(b)) == b);
  }
}

TEST_CASE("float16: a value between two neighbours goes to the nearer, the middle to the even one") {
  for (std::uint16_t bits = 0; bits < 0x7bff; ++bits) {
    CAPTURE(bits);
    const float16 below{bits}, above{static_cast<std::uint16_t>(bits + 1)};
    const auto middle = static_cast<float>((value_of(below) + value_of(above)) / 2);  // 12 bits: exact
    REQUIRE(to_float16(middle) == (bits % 2 == 0 ? below : above));
    REQUIRE(to_float16(std::nextafter(middle, 0.0f)) == below);
    REQUIRE(to_float16(std::nextafter(middle, infinity)) == above);
    REQUIRE(to_float16(-middle).bits == (to_float16(middle).bits | 0x8000));
  }
}

TEST_CASE("float16: what is too large becomes infinite, what is too small zero, with its sign") {
  CHECK(to_float16(65504.0f).bits == 0x7bff);  // the largest
  CHECK(to_float16(std::nextafter(65520.0f, 0.0f)).bits == 0x7bff);
  CHECK(to_float16(65520.0f).bits == 0x7c00);  // half a place above it
  CHECK(to_float16(65536.0f).bits == 0x7c00);
  CHECK(to_float16(1e30f).bits == 0x7c00);
  CHECK(to_float16(-infinity).bits == 0xfc00);
  CHECK(to_float16(0x1p-25f).bits == 0);  // half the smallest: to even
  CHECK(to_float16(std::nextafter(0x1p-25f, 1.0f)).bits == 1);
  CHECK(to_float16(-1e-30f).bits == 0x8000);
  CHECK(to_float16(std::numeric_limits<float>::denorm_min()).bits == 0);
}

TEST_CASE("bfloat16: rounds to nearest, ties to even, and overflows to infinity") {
  CHECK(to_bfloat16(1.0f).bits == 0x3f80);
  CHECK(to_bfloat16(1.0f + 0x1p-8f).bits == 0x3f80);            // a tie, 0x3f80 is even
  CHECK(to_bfloat16(1.0f + 0x1p-7f + 0x1p-8f).bits == 0x3f82);  // a tie, 0x3f81 is odd
  CHECK(to_bfloat16(1.0f + 0x1p-8f + 0x1p-20f).bits == 0x3f81);
  CHECK(to_bfloat16(std::numeric_limits<float>::max()).bits == 0x7f80);
  CHECK(to_bfloat16(-infinity).bits == 0xff80);
}

TEST_CASE("a NaN stays a NaN, also when its payload is in the bits that are dropped") {
  for (std::uint32_t bits : {0x7f800001u, 0x7fbfffffu, 0x7fc00000u, 0xff800001u, 0xffffffffu}) {
    CAPTURE(bits);
    CHECK(is_nan(to_float16(std::bit_cast<float>(bits))));
    CHECK(is_nan(to_bfloat16(std::bit_cast<float>(bits))));
  }
}
