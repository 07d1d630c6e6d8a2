#include "collectives/algorithms/two_level.hpp"

#include "collectives/algorithms/chain.hpp"
#include "collectives/algorithms/recursive_doubling.hpp"
#include "collectives/registry/registry.hpp"
#include "collectives/schedule/verify.hpp"

#include <doctest/doctest.h>

namespace weft {

TEST_CASE("only leaders talk between groups") {
  const Schedule s = two_level_allreduce({.ranks = 12, .ranks_per_group = 3}, {}, recursive_doubling_allreduce(4), {});
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
  const Schedule s = two_level_broadcast({.ranks = 4, .ranks_per_group = 2}, 3, chain_broadcast({.ranks = 2, .root = 1}), {});
  CHECK(s.root == 3);
  CHECK(to_string(s).ends_with("step 0: 3->1 copies chunk 0\nstep 1: 1->0 copies chunk 0\nstep 1: 3->2 copies chunk 0\n"));
}

TEST_CASE("any reduce takes a group to its leader, and any broadcast brings it back") {
  for (const auto& of : {std::pair{8, 4}, {12, 3}, {24, 12}, {35, 7}, {6, 6}})
    for (const char* up : {"", "binomial_tree", "halving_gather", "chain"})
      for (const char* down : {"", "scatter_doubling", "scatter_allgather", "chain"})
        for (const Collective collective : {Collective::allreduce, Collective::reduce, Collective::broadcast}) {
          CAPTURE(of.first);
          CAPTURE(up);
          CAPTURE(down);
          CAPTURE(name_of(collective));
          const bool rooted = collective != Collective::allreduce;
          const Schedule s = build({.collective = collective,
                                    .algorithm = "two_level",
                                    .ranks = of.first,
                                    .root = rooted ? of.first - 2 : 0,
                                    .settings = {.group = of.second,
                                                 .inner = rooted ? "binomial_tree" : "halving_doubling",
                                                 .up = collective == Collective::broadcast ? "" : up,
                                                 .down = collective == Collective::reduce ? "" : down}});
          CHECK(verify(s).empty());
        }
}

TEST_CASE("on the way up the halves of a long message are added side by side") {
  const auto max_sent = [](const char* up, const char* down) {
    const Cost p =
        cost({.algorithm = "two_level", .ranks = 64, .settings = {.group = 32, .inner = "recursive_doubling", .up = up, .down = down}});
    return static_cast<double>(p.max_chunks_sent) / p.chunks;
  };
  // A leader of 32 sends the message to five others, and another once to the other leader; by a scatter and an all-gather twice.
  CHECK(max_sent("", "") == 5 + 1);
  CHECK(max_sent("halving_gather", "scatter_doubling") == doctest::Approx(31 / 32.0 + 1 + 2 * 31 / 32.0));
}

}  // namespace weft
