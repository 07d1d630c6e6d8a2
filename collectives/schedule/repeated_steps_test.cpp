#include "collectives/schedule/repeated_steps.hpp"

#include "collectives/algorithms/hierarchical_ring.hpp"
#include "collectives/algorithms/ring.hpp"
#include "collectives/libraries/nccl.hpp"
#include "collectives/schedule/compose.hpp"
#include "collectives/schedule/verify.hpp"
#include "kernels/base/error.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <doctest/doctest.h>

using namespace weft;

namespace {

// The same steps, of which nobody knows that they repeat.
Schedule as_steps_only(const Schedule& s) {
  Schedule out = s;
  for (std::size_t c = 0; c < s.channels.size(); ++c) {
    out.channels[c] = Steps(s.channels[c].count(), [steps = s.channels[c]](int k, Step& step) { steps.produce(k, step); });
    for (const Symmetry& symmetry : s.channels[c].symmetries()) out.channels[c].declare(symmetry);
  }
  return out;
}

std::vector<Schedule> some_rings() {
  std::vector<Schedule> out;
  for (const int n : {1, 2, 3, 8, 15}) {
    out.push_back(ring_allreduce(n));
    out.push_back(ring_reduce_scatter(n));
    out.push_back(ring_allgather(n));
  }
  for (const Groups g : {Groups{1, 1}, {6, 1}, {6, 6}, {12, 3}, {12, 4}, {35, 5}}) out.push_back(hierarchical_ring_allreduce(g));
  // Whose chunks turn in the order of the rings.
  for (const NcclShape& shape :
       {NcclShape{.ranks = 8, .gpus = 4, .nics = 2, .channels = 2}, {.ranks = 12, .gpus = 4, .nics = 4, .channels = 4}}) {
    out.push_back(nccl_ring_allreduce(shape));
    out.push_back(nccl_ring_reduce_scatter(shape));
    out.push_back(nccl_ring_allgather(shape));
  }
  return out;
}

// One step of four ranks, three times, each chunk to the next rank.
RepeatedStep four_in_a_ring() {
  RepeatedStep step{.times = 3, .block = 4, .turn = -1};
  for (int r = 0; r < 4; ++r) step.first.reduce({.from = r, .to = mod(r + 1, 4), .chunk = r});
  return step;
}

}  // namespace

TEST_CASE("repeated steps: chunks turn within their blocks, forwards and backwards") {
  const RepeatedStep step{.times = 1, .block = 5, .turn = -2};
  CHECK(step.turned(5, 1) == 8);  // 0 of the second block becomes -2, which is 3
  CHECK(step.turned(8, -1) == 5);
  CHECK(step.turned(9, 1'000'000) == 9);
  for (int c = 0; c < 15; ++c)
    for (int times = -7; times < 8; ++times) CHECK(step.turned(step.turned(c, times), -times) == c);
}

TEST_CASE("repeated steps: what moves a chunk is found without producing the step") {
  for (const Schedule& s : some_rings()) {
    CAPTURE(s.name);
    CAPTURE(s.ranks);
    const Steps& steps = s.channels.front();
    const auto* repeated = steps.made_by<RepeatedSteps>();
    REQUIRE(repeated);
    Step whole, of_chunk;
    for (int k = 0; k < steps.count(); ++k)
      for (int chunk = 0; chunk < s.chunks; ++chunk) {
        steps.produce(k, whole);
        std::vector<Transfer> moving;
        for (const Transfer& t : whole.transfers())
          if (chunk >= t.chunk && chunk < t.chunk + t.count) moving.push_back(t);
        repeated->produce_of(k, std::array{chunk}, of_chunk);
        CHECK(std::ranges::equal(of_chunk.transfers(), moving));
      }
  }
}

TEST_CASE("repeated steps: what moves several chunks is what moves one of them, in the order of the step") {
  const Schedule s = hierarchical_ring_allreduce({.ranks = 12, .ranks_per_group = 4});
  const auto* repeated = s.channels.front().made_by<RepeatedSteps>();
  REQUIRE(repeated);
  Step whole, of_chunks;
  for (int k = 0; k < s.steps(); ++k) {
    s.channels.front().produce(k, whole);
    std::vector<Transfer> moving;
    for (const Transfer& t : whole.transfers())
      for (const int chunk : {1, 2, 7})
        if (chunk >= t.chunk && chunk < t.chunk + t.count) {
          moving.push_back(t);
          break;
        }
    repeated->produce_of(k, std::array{7, 2, 1}, of_chunks);
    CHECK(std::ranges::equal(of_chunks.transfers(), moving));
  }
}

TEST_CASE("repeated steps: the chunks that are moved are those of all steps") {
  std::vector<Schedule> schedules = some_rings();
  for (const int times : {1, 2, 3}) {  // of a block of 5, two on in each step
    RepeatedStep step{.times = times, .block = 5, .turn = 2};
    step.first.copy({.from = 0, .to = 1, .chunk = 6});
    step.first.copy({.from = 1, .to = 0, .chunk = 8});
    schedules.push_back({.name = "few", .collective = Collective::allgather, .ranks = 2, .chunks = 10});
    schedules.back().channels = {repeated_steps(2, 10, {step})};
  }
  for (const Schedule& s : schedules)
    for (const Steps& channel : s.channels) {
      CAPTURE(s.name);
      CAPTURE(s.ranks);
      std::set<int> moved;
      Step step;
      for (int k = 0; k < channel.count(); ++k) {
        channel.produce(k, step);
        for (const Transfer& t : step.transfers())
          for (int i = 0; i < t.count; ++i) moved.insert(t.chunk + i);
      }
      CHECK(channel.made_by<RepeatedSteps>()->chunks_moved() == std::vector<int>(moved.begin(), moved.end()));
    }
}

TEST_CASE("repeated steps: the proof and the count are those of the same steps one by one") {
  for (const Schedule& s : some_rings()) {
    CAPTURE(s.name);
    CAPTURE(s.ranks);
    const Schedule plain = as_steps_only(s);
    REQUIRE(!plain.channels.front().made_by<RepeatedSteps>());
    CHECK(to_string(plain) == to_string(s));
    CHECK(verify(s).empty());
    CHECK(verify(plain).empty());
    for (const std::int64_t elements : {0, 1, 1000, 12 * 35 * 8}) {
      const Traffic ours = traffic(s, elements), theirs = traffic(plain, elements);
      CHECK(ours.counted == theirs.counted);
      CHECK(ours.max_elements_sent == theirs.max_elements_sent);
    }
  }
}

TEST_CASE("repeated steps: one time too few, or chunks that turn the other way, are not proved") {
  for (const auto& wrong : {std::pair{2, -1}, {3, 1}}) {
    RepeatedStep step = four_in_a_ring();
    step.times = wrong.first, step.turn = wrong.second;
    Schedule s{.name = "wrong", .collective = Collective::reduce_scatter, .ranks = 4, .chunks = 4};
    for (Transfer& t : step.first.mutable_transfers()) t.chunk = t.into = mod(t.chunk - 1, 4);
    s.channels = {repeated_steps(4, 4, {step})};
    CAPTURE(wrong.first);
    CHECK(!verify(rotating(s)).empty());
    CHECK(verify(rotating(s)) == verify(as_steps_only(rotating(s))));
  }
}

TEST_CASE("repeated steps: a symmetry that holds in the first step only proves nothing") {
  // Rank 0's share is added for chunks 0 and 1, then for 1, again, and 2. Chunks 0 and 1 look alike in the first of these steps only.
  const auto chunks = [](std::vector<int> which, bool reduces, int times) {
    RepeatedStep step{.times = times, .block = 4, .turn = 1};
    for (const int c : which) {
      if (reduces)
        step.first.reduce({.from = 0, .to = 1, .chunk = c});
      else
        step.first.copy({.from = 1, .to = 0, .chunk = c});
    }
    return step;
  };
  Schedule s{.name = "odd", .collective = Collective::allreduce, .ranks = 2, .chunks = 4};
  s.channels = {repeated_steps(2, 4, {chunks({0, 1}, true, 2), chunks({3}, true, 1), chunks({0, 1, 2, 3}, false, 1)})};
  s.channels.front().declare({.rank = [](Rank r) { return r; }, .chunk = [](int c) { return c < 2 ? 1 - c : c; }});
  CHECK(verify(s) == verify(as_steps_only(s)));
  REQUIRE(!verify(s).empty());
  CHECK(verify(s).front() == "step 1: 0->1 adds rank 0's share of chunk 1 twice");
}

TEST_CASE("repeated steps: ranges that would not turn as a whole are refused") {
  RepeatedStep step{.times = 2, .block = 4, .turn = -1};
  step.first.copy({.from = 0, .to = 1, .chunk = 0, .count = 2});
  CHECK_THROWS_WITH(repeated_steps(2, 4, {step}), doctest::Contains("2 chunks of a block of 4 turn by -1"));
  step.turn = -2;
  CHECK_NOTHROW(repeated_steps(2, 4, {step}));
  CHECK_THROWS_WITH(repeated_steps(2, 6, {step}), doctest::Contains("blocks of 4 of 6 chunks"));
  CHECK_THROWS_WITH(repeated_steps(1, 4, {step}), doctest::Contains("of 1 ranks and 4 chunks"));
  step.order = std::make_shared<const ChunkOrder>(std::vector{3, 2, 1, 0});
  CHECK_THROWS_WITH(repeated_steps(2, 4, {step}), doctest::Contains("2 chunks of 4 turn as one in an order of their own"));
  CHECK_THROWS_WITH(ChunkOrder({0, 2, 2}), doctest::Contains("chunk 2 at place 2 of an order of 3"));
}
