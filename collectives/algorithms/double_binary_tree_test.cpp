#include "collectives/algorithms/double_binary_tree.hpp"

#include <algorithm>
#include <array>

#include <doctest/doctest.h>

namespace weft {

TEST_CASE("the in-order tree of eight ranks hangs four below rank zero, two and six below four") {
  CHECK(in_order_tree(8) == std::vector<Rank>{-1, 2, 4, 2, 0, 6, 4, 6});
  CHECK(in_order_tree(1) == std::vector<Rank>{-1});
  CHECK(in_order_tree(6) == std::vector<Rank>{-1, 2, 4, 2, 0, 4});  // 5 would hang below 6, which is not there
}

TEST_CASE("every rank but one or two is a leaf of one of the trees") {
  for (int n = 2; n <= 65; ++n) {
    CAPTURE(n);
    const Schedule s = double_binary_tree_allreduce(n);
    std::vector<std::array<bool, 2>> inner(static_cast<std::size_t>(n), {false, false});
    Step step;
    for (int k = 0; k < s.steps(); ++k) {
      s.channels.front().produce(k, step);
      for (const Transfer& t : step.transfers())
        if (t.reduces) inner[static_cast<std::size_t>(t.to)][static_cast<std::size_t>(t.chunk)] = true;
    }
    const auto inside_both = std::count_if(inner.begin(), inner.end(), [](const auto& in) { return in[0] && in[1]; });
    CHECK(inside_both == n % 2);  // for odd n rank 0 is the root of the first tree and inside the second
  }
}

}  // namespace weft
