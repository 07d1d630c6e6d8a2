#include "collectives/algorithms/ring.hpp"

#include <doctest/doctest.h>

namespace weft {

TEST_CASE("ring: every rank passes on the chunk it last touched, adding, then copying") {
  CHECK(to_string(ring_allreduce(3)) ==
        "ring_allreduce: allreduce, 3 ranks, 3 chunks, 4 steps\n"
        "step 0: 0->1 adds chunk 0\nstep 0: 1->2 adds chunk 1\nstep 0: 2->0 adds chunk 2\n"
        "step 1: 0->1 adds chunk 2\nstep 1: 1->2 adds chunk 0\nstep 1: 2->0 adds chunk 1\n"
        "step 2: 0->1 copies chunk 1\nstep 2: 1->2 copies chunk 2\nstep 2: 2->0 copies chunk 0\n"
        "step 3: 0->1 copies chunk 0\nstep 3: 1->2 copies chunk 1\nstep 3: 2->0 copies chunk 2\n");
}

TEST_CASE("ring: every rank sends at every step, to one neighbour only") {
  const Schedule s = ring_allreduce(7);
  Step step;
  for (int k = 0; k < s.steps(); ++k) {
    s.channels.front().produce(k, step);
    REQUIRE(step.transfers().size() == 7);
    for (int r = 0; r < 7; ++r) {
      CHECK(step.transfers()[static_cast<std::size_t>(r)].from == r);
      CHECK(step.transfers()[static_cast<std::size_t>(r)].to == mod(r + 1, 7));
    }
  }
}

}  // namespace weft
