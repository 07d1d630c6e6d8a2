#include "collectives/schedule/step_window.hpp"

#include <doctest/doctest.h>

using namespace weft;

namespace {
Steps shifting(int ranks, int count) {
  return {count, [ranks](int k, Step& step) {
            for (int r = 0; r < ranks; ++r) step.copy({.from = r, .to = mod(r + 1 + k / 2, ranks), .chunk = k});
          }};
}
}  // namespace

TEST_CASE("step window: consecutive steps between the same ranks share a shape") {
  const Steps steps = shifting(5, 4);
  StepWindow window(steps, 5);
  CHECK(window.at(0).shape == window.at(1).shape);
  CHECK(window.at(2).shape != window.at(1).shape);
  CHECK(window.at(1).transfers()[0].chunk == 1);
}

TEST_CASE("step window: each rank finds its sends, receives and local copies") {
  Schedule s{.ranks = 3, .chunks = 2};
  Step& step = s.add_step();
  step.copy({.from = 0, .to = 2, .chunk = 0});
  step.reduce({.from = 1, .to = 2, .chunk = 1});
  step.copy({.from = 1, .to = 1, .chunk = 0, .into = 1});
  StepWindow window(s.channels[0], 3);
  const StepShape& shape = *window.at(0).shape;
  CHECK(shape.sends_of(0).size() == 1);
  CHECK(shape.sends_of(2).empty());
  REQUIRE(shape.receives_of(2).size() == 2);
  CHECK(shape.receives_of(2)[1] == 1);
  REQUIRE(shape.locals_of(1).size() == 1);
  CHECK(shape.locals_of(1)[0] == 2);
}

TEST_CASE("step window: a step is forgotten when the last rank has left it, and not before") {
  const Steps steps = shifting(2, 4);
  StepWindow window(steps, 2);
  const IndexedStep& first = window.at(0);
  window.at(3);
  window.leave(0);
  CHECK(first.ranks_inside == 1);
  CHECK(window.at(0).transfers()[0].chunk == 0);
  window.leave(0);
  CHECK(window.at(1).transfers()[0].chunk == 1);
}
