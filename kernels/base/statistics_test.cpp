#include "kernels/base/statistics.hpp"

#include <doctest/doctest.h>

using weft::median;

TEST_CASE("the median of an even number of values is the smaller of the two in the middle, and nothing has none") {
  CHECK(median({3}) == 3);
  CHECK(median({9, 1, 5}) == 5);
  CHECK(median({4, 1, 3, 2}) == 2);
  CHECK_THROWS(median({}));
}
