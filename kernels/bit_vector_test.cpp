#include "kernels/bit_vector.hpp"

#include "kernels/testing/backend.hpp"

#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;
using test::backends;
using Words = std::vector<std::uint64_t>;

TEST_CASE("a bit is set in the minimum when it is set everywhere") {
  for (const auto& on : backends()) {
    CAPTURE(on.name);
    Words into{~std::uint64_t{0}, 0b1100, 0, std::uint64_t{1} << 63};
    on.bit_min(into, Words{0b1010, 0b1010, ~std::uint64_t{0}, std::uint64_t{3} << 62});
    CHECK(into == Words{0b1010, 0b1000, 0, std::uint64_t{1} << 63});
    Words none;
    on.bit_min(none, Words{});
    CHECK(none.empty());
  }
}

TEST_CASE("the minimum over many workers leaves the gradients that all of them have") {
  // Worker w lacks gradient g when g % 7 == w, so those with g % 7 == 6 are ready everywhere.
  constexpr std::size_t gradients = 64 * 41;
  for (const auto& on : backends()) {
    CAPTURE(on.name);
    Words ready(gradients / 64, ~std::uint64_t{0}), expected(gradients / 64, 0);
    for (std::size_t worker = 0; worker < 6; ++worker) {
      Words has(gradients / 64, 0);
      for (std::size_t g = 0; g < gradients; ++g)
        if (g % 7 != worker) has[g / 64] |= std::uint64_t{1} << (g % 64);
      on.bit_min(ready, has);
    }
    for (std::size_t g = 6; g < gradients; g += 7) expected[g / 64] |= std::uint64_t{1} << (g % 64);
    CHECK(ready == expected);
  }
}

TEST_CASE("bit vectors of different lengths are our own bug") {
  Words one(1), two(2);
  CHECK_THROWS_WITH_AS(bit_min(one, two), "internal error: the minimum of bit vectors of 1 and 2 words", std::logic_error);
}
