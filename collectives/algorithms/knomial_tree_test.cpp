#include "collectives/algorithms/knomial_tree.hpp"

#include <doctest/doctest.h>

namespace weft {

TEST_CASE("a k-nomial tree of ten ranks sends to all children at the same time, those far away first") {
  CHECK(to_string(knomial_tree_broadcast({.ranks = 10}))
            .ends_with("step 0: 0->4 copies chunk 0\nstep 0: 0->8 copies chunk 0\n"
                       "step 0: 0->1 copies chunk 0\nstep 0: 0->2 copies chunk 0\nstep 0: 0->3 copies chunk 0\n"
                       "step 1: 4->5 copies chunk 0\nstep 1: 4->6 copies chunk 0\nstep 1: 4->7 copies chunk 0\n"
                       "step 1: 8->9 copies chunk 0\n"));
}

TEST_CASE("a binomial tree at once has a step for each send on the longest way from the root") {
  CHECK(to_string(binomial_tree_at_once_broadcast({.ranks = 7}))
            .ends_with("step 0: 0->1 copies chunk 0\nstep 0: 0->2 copies chunk 0\nstep 0: 0->4 copies chunk 0\n"
                       "step 1: 1->3 copies chunk 0\nstep 1: 1->5 copies chunk 0\nstep 1: 2->6 copies chunk 0\n"));
}

TEST_CASE("a rank of a binary tree has two children, a level's width and twice that further on") {
  CHECK(to_string(binary_tree_broadcast({.ranks = 6}))
            .ends_with("step 0: 0->1 copies chunk 0\nstep 0: 0->2 copies chunk 0\n"
                       "step 1: 1->3 copies chunk 0\nstep 1: 1->5 copies chunk 0\nstep 1: 2->4 copies chunk 0\n"));
  CHECK(to_string(binary_tree_reduce({.ranks = 3})).ends_with("step 0: 1->0 adds chunk 0\nstep 0: 2->0 adds chunk 0\n"));
}

}  // namespace weft
