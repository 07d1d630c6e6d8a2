#include "validation/measurements/lines.hpp"

#include <limits>
#include <utility>

#include <doctest/doctest.h>

using namespace weft;

TEST_CASE("nccl-tests: the digits of both bandwidths tell how many ranks there were, where they are enough") {
  const auto told = [](const char* collective, const char* algbw, const char* busbw) {
    const auto ranks = ranks_told(collective, algbw, busbw);
    return ranks ? std::pair(ranks->least, ranks->most) : std::pair(0, 0);
  };
  CHECK(told("allreduce", "27.76", "53.78") == std::pair(32, 32));  // 2 * 31 / 32 = 1.9375; the digits allow 1.9363 to 1.9384
  CHECK(told("allreduce", "1.29", "2.50") == std::pair(24, 51));    // 2.49 / 1.30 to 2.51 / 1.28
  CHECK(told("allreduce", "0.17", "0.34") == std::pair(0, 0));      // too few digits
  CHECK(told("allreduce", "6.30", "6.30") == std::pair(2, 2));
  CHECK(told("allgather", "100.0", "87.5") == std::pair(8, 8));        // 7 / 8
  CHECK(told("reduce_scatter", "100.0", "100.0") == std::pair(0, 0));  // of before June 2020
  CHECK(told("allgather", "100.0", "99.9").second == std::numeric_limits<int>::max());
  CHECK(told("allreduce", "10.00", "25.00") == std::pair(0, 0));  // of no number of ranks
  CHECK(told("broadcast", "10.00", "10.00") == std::pair(0, 0));
}
