#include "collectives/algorithms/hdrm.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include <doctest/doctest.h>

namespace weft {

TEST_CASE("hdrm places the base group of eight switches as the paper draws it") {
  // X = 0, 3, 5, 6 on the upper switches (nodes 0, 2, 4, 6), Y = 1, 2, 4, 7 on the lower ones (nodes 1, 3, 5, 7).
  CHECK(hdrm_placement({.switches = 8, .nodes_per_switch = 1}) == std::vector<int>{0, 1, 3, 2, 5, 4, 6, 7});
}

TEST_CASE("hdrm crosses between the halves at every step and puts at most one flow on a link") {
  for (int N = 4; N <= 64; N *= 2)
    for (int M = 1; M <= N / 2; M *= 2) {
      CAPTURE(N);
      CAPTURE(M);
      const Schedule s = hdrm_allreduce({.switches = N, .nodes_per_switch = M});
      int worst = 0, inside_a_half = 0;
      Step step;
      for (int k = 0; k < s.steps(); ++k) {
        s.channels.front().produce(k, step);
        std::map<std::pair<int, int>, int> flows;  // by directed link between switches
        for (const Transfer& t : step.transfers()) {
          const int from = t.from / M, to = t.to / M;
          inside_a_half += from % 2 == to % 2;
          worst = std::max(worst, ++flows[{from, to}]);
        }
      }
      CHECK(inside_a_half == 0);
      CHECK(worst == 1);
    }
}

TEST_CASE("hdrm on another shape is refused") {
  CHECK_THROWS_WITH_AS(hdrm_placement({.switches = 8, .nodes_per_switch = 8}), "internal error: no HDRM placement on BiGraph 8 x 8",
                       std::logic_error);
  CHECK_THROWS_AS(hdrm_placement({.switches = 12, .nodes_per_switch = 2}), std::logic_error);
  CHECK_THROWS_AS(hdrm_placement({.switches = 8, .nodes_per_switch = 3}), std::logic_error);
  CHECK_THROWS_AS(hdrm_placement({.switches = 1, .nodes_per_switch = 0}), std::logic_error);
}

}  // namespace weft
