#include "collectives/algorithms/two_level.hpp"

#include "collectives/algorithms/chain.hpp"
#include "collectives/algorithms/recursive_doubling.hpp"

#include <doctest/doctest.h>

namespace weft {

TEST_CASE("only leaders talk between groups") {
  const Schedule s = two_level_allreduce({.ranks = 12, .ranks_per_group = 3}, recursive_doubling_allreduce(4));
  CHECK(s.steps() == 2 + 2 + 2);
  int between = 0;
  Step step;
  for (int k = 0; k < s.steps(); ++k) {
    s.channels.front().produce(k, step);
    for (const Transfer& t : step.transfers()) {
      if (t.from / 3 == t.to / 3) continue;
      CHECK(t.from % 3 == 0);
      CHECK(t.to % 3 == 0);
      ++between;
    }
  }
  CHECK(between == 4 * 2);
}

TEST_CASE("the root leads its group, and its place leads the others") {
  const Schedule s = two_level_broadcast({.ranks = 4, .ranks_per_group = 2}, 3, chain_broadcast({.ranks = 2, .root = 1}));
  CHECK(s.root == 3);
  CHECK(to_string(s).ends_with("step 0: 3->1 copies chunk 0\nstep 1: 1->0 copies chunk 0\nstep 1: 3->2 copies chunk 0\n"));
}

}  // namespace weft
