#include "collectives/algorithms/halving_doubling.hpp"

#include "collectives/algorithms/fold.hpp"

#include <cstdlib>
#include <stdexcept>

#include <doctest/doctest.h>

namespace weft {

TEST_CASE("halving_doubling exchanges at distance 1, 2, 4, ... ranges that halve, then in mirror image") {
  const Schedule s = halving_doubling_allreduce(16);
  const std::vector<int> distances = {1, 2, 4, 8, 8, 4, 2, 1}, counts = {8, 4, 2, 1, 1, 2, 4, 8};
  REQUIRE(s.steps() == 8);
  Step step;
  for (int k = 0; k < s.steps(); ++k) {
    CAPTURE(k);
    s.channels.front().produce(k, step);
    CHECK(step.transfers().size() == 16);  // one message each, however many chunks
    for (const Transfer& t : step.transfers()) {
      CHECK(std::abs(t.from - t.to) == distances[static_cast<std::size_t>(k)]);
      CHECK(t.count == counts[static_cast<std::size_t>(k)]);
      CHECK(t.reduces == (k < 4));
    }
  }
}

TEST_CASE("ranks beyond the power of two take part through a neighbour, first and last") {
  const Schedule s = halving_doubling_allreduce(6);  // pairs (0, 1) and (2, 3); 0, 2, 4, 5 go on
  CHECK(to_string(s).find("step 0: 1->0 adds chunks 0..3\nstep 0: 3->2 adds chunks 0..3\n") != std::string::npos);
  CHECK(to_string(s).find("step 1: 0->2 adds chunks 2..3\n") != std::string::npos);
  CHECK(to_string(s).find("step 5: 0->1 copies chunks 0..3\nstep 5: 2->3 copies chunks 0..3\n") != std::string::npos);
}

TEST_CASE("of a reduce-scatter's pair the first works for both and hands the second its block") {
  const std::string six = to_string(halving_doubling_reduce_scatter(6));  // pairs (0, 1) and (2, 3); 0, 2, 4, 5 go on
  CHECK(six.find("step 0: 1->0 adds chunks 0..5\nstep 0: 3->2 adds chunks 0..5\n") != std::string::npos);
  CHECK(six.find("step 1: 0->4 adds chunks 4..5\nstep 1: 2->5 adds chunks 4..5\nstep 1: 4->0 adds chunks 0..3\n") != std::string::npos);
  CHECK(six.find("step 3: 0->1 copies chunk 1\nstep 3: 2->3 copies chunk 3\n") != std::string::npos);
}

TEST_CASE("logarithms of two round down and up") {
  struct Case {
    int n, down, up;
  };
  for (const Case& c : {Case{1, 0, 0}, {2, 1, 1}, {3, 1, 2}, {4, 2, 2}, {5, 2, 3}, {1024, 10, 10}, {1025, 10, 11}}) {
    CAPTURE(c.n);
    CHECK(floor_log2(c.n) == c.down);
    CHECK(ceil_log2(c.n) == c.up);
    CHECK(is_power_of_two(c.n) == (c.down == c.up));
  }
  CHECK_FALSE(is_power_of_two(0));
  CHECK_FALSE(is_power_of_two(-4));
}

}  // namespace weft
