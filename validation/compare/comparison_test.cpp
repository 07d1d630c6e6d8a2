#include "validation/compare/comparison.hpp"

#include <doctest/doctest.h>

using namespace weft;

TEST_CASE("comparison: measured and simulated stand side by side, with the median and the largest error") {
  // -20 %, +10 %, 0 %: without sign 0, 10 and 20
  CHECK(to_table({{65536, "ring", 10, 8}, {1048576, "ring", 100, 110}, {65536, "direct", 5, 5}}) ==
        "#       size  algorithm      measured     simulated    error\n"
        "#        (B)                     (us)          (us)      (%)\n"
        "       65536  ring              10.00          8.00    -20.0\n"
        "     1048576  ring             100.00        110.00    +10.0\n"
        "       65536  direct             5.00          5.00     +0.0\n"
        "# error of the simulation: median 10.0 %, largest 20.0 % (ring, 65536 B)\n");
}
