#include "collectives/algorithms/hierarchical_ring.hpp"

#include <stdexcept>

#include <doctest/doctest.h>

namespace weft {

TEST_CASE("hierarchical_ring sends a group's share of the message between groups, and the rest inside") {
  // 12 ranks in groups of 4: each of the 3 groups' 4 rings moves 2 * (3 - 1) chunks of 12 a rank.
  const Schedule s = hierarchical_ring_allreduce({.ranks = 12, .ranks_per_group = 4});
  std::int64_t inside = 0, between = 0;
  Step step;
  for (int k = 0; k < s.steps(); ++k) {
    s.channels.front().produce(k, step);
    for (const Transfer& t : step.transfers()) {
      (t.from / 4 == t.to / 4 ? inside : between) += t.count;
      if (t.from / 4 != t.to / 4) CHECK(t.from % 4 == t.to % 4);  // each shard has its ring
    }
  }
  CHECK(between == 12 * 4);
  CHECK(inside == 12 * 2 * 3 * 3);
}

TEST_CASE("groups that do not divide the ranks are refused") {
  CHECK_THROWS_WITH_AS(hierarchical_ring_allreduce({.ranks = 6, .ranks_per_group = 4}), "internal error: groups of 4 do not divide 6 ranks",
                       std::logic_error);
}

}  // namespace weft
