#include "collectives/schedule/merge_steps.hpp"

#include "collectives/registry/registry.hpp"

#include <numeric>

#include <doctest/doctest.h>

using namespace weft;

namespace {

// Chunks that each rank sends, all steps together.
std::vector<std::int64_t> sent(const Schedule& s) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(s.ranks));
  Step step;
  for (const Steps& steps : s.channels)
    for (int k = 0; k < steps.count(); ++k) {
      steps.produce(k, step);
      for (const Transfer& t : step.transfers()) out[static_cast<std::size_t>(t.from)] += t.count;
    }
  return out;
}

}  // namespace

TEST_CASE("merged steps: a ring becomes few steps with as many chunks, which say what they stand for") {
  for (const int n : {2, 3, 8, 64}) {
    CAPTURE(n);
    const Schedule ring = build(Request{.ranks = n});
    const MergedSchedule merged = merge_steps(ring, 4);
    CHECK(sent(merged.schedule) == sent(ring));
    // Half of the steps reduce, half do not: these are not put together.
    CHECK(merged.schedule.steps() == 2 * std::min(4, n - 1));
    REQUIRE(merged.stands_for.size() == 1);
    CHECK(std::accumulate(merged.stands_for[0].begin(), merged.stands_for[0].end(), 0) == ring.steps());
  }
}

TEST_CASE("merged steps: what never repeats stays as it is") {
  const Schedule pairs = build(Request{.algorithm = "halving_doubling", .ranks = 16});
  const MergedSchedule merged = merge_steps(pairs, 4);
  CHECK(merged.schedule.steps() == pairs.steps());
  CHECK(sent(merged.schedule) == sent(pairs));
}
