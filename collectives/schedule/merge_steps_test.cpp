#include "collectives/schedule/merge_steps.hpp"

#include "collectives/registry/registry.hpp"

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
    int steps = 0;
    for (const StandsFor& of : merged.stands_for[0]) {
      steps += of.steps;
      CHECK(of.in_turn);
    }
    CHECK(steps == ring.steps());
  }
}

TEST_CASE("merged steps: pieces along a chain or up a tree do not wait for those before them to arrive") {
  // Of 4 ranks the first sends a piece in each of 16 steps; in the 14 in between all three links are busy.
  const MergedSchedule chain =
      merge_steps(build(Request{.collective = Collective::broadcast, .algorithm = "chain", .ranks = 4, .settings = {.pieces = 16}}), 2);
  CHECK(chain.stands_for == std::vector<std::vector<StandsFor>>{{{1}, {1}, {7, false}, {7, false}, {1}, {1}}});
  const MergedSchedule tree =
      merge_steps(build(Request{.algorithm = "nccl", .ranks = 8, .settings = {.group = 4, .pieces = 16, .nccl = NcclAlgorithm::tree}}), 2);
  for (const auto& channel : tree.stands_for)
    for (const StandsFor& of : channel) CHECK(of.in_turn == (of.steps == 1));
}

TEST_CASE("merged steps: what never repeats stays as it is") {
  const Schedule pairs = build(Request{.algorithm = "halving_doubling", .ranks = 16});
  const MergedSchedule merged = merge_steps(pairs, 4);
  CHECK(merged.schedule.steps() == pairs.steps());
  CHECK(sent(merged.schedule) == sent(pairs));
}
