#include "collectives/schedule/schedule.hpp"

#include "collectives/algorithms/ring.hpp"

#include <stdexcept>

#include <doctest/doctest.h>

namespace weft {

TEST_CASE("collectives have names and are found by them") {
  CHECK(name_of(Collective::reduce_scatter) == "reduce_scatter");
  for (int i = 0; i <= static_cast<int>(Collective::barrier); ++i) {
    const auto collective = static_cast<Collective>(i);
    CHECK(collective_named(name_of(collective)) == collective);
  }
  CHECK(collective_named("all_reduce") == std::nullopt);
}

TEST_CASE("a transfer is printed as who does what to which chunks") {
  CHECK(to_string(Transfer{.from = 1, .to = 2, .chunk = 0, .reduces = true}) == "1->2 adds chunk 0");
  CHECK(to_string(Transfer{.from = 0, .to = 3, .chunk = 4, .count = 4, .into = 8}) == "0->3 copies chunks 4..7 to 8..11");
  CHECK(to_string(Transfer{.from = 0, .to = 3, .chunk = 4, .count = 2, .into = 4}) == "0->3 copies chunks 4..5");
}

TEST_CASE("a schedule is printed with its sizes and one line a transfer") {
  CHECK(to_string(ring_allreduce(2)) ==
        "ring_allreduce: allreduce, 2 ranks, 2 chunks, 2 steps\n"
        "step 0: 0->1 adds chunk 0\n"
        "step 0: 1->0 adds chunk 1\n"
        "step 1: 0->1 copies chunk 1\n"
        "step 1: 1->0 copies chunk 0\n");
}

TEST_CASE("root, extra space and channels are printed where there are any") {
  Schedule s{.name = "hand_made", .collective = Collective::broadcast, .ranks = 2, .chunks = 1, .extra_chunks = 3, .root = 1};
  s.add_step().copy({.from = 1, .to = 0, .chunk = 0});
  s.channels.emplace_back();
  CHECK(to_string(s) ==
        "hand_made: broadcast, 2 ranks, 1 chunks + 3 extra, 1 steps, root 1, 2 channels\n"
        "channel 0:\n"
        "step 0: 1->0 copies chunk 0\n"
        "channel 1:\n");
}

TEST_CASE("held and produced steps read the same") {
  Schedule held{.name = "ring_allreduce", .ranks = 3, .chunks = 3};
  Schedule produced = ring_allreduce(3);
  for (int k = 0; k < produced.steps(); ++k) produced.channels.front().produce(k, held.add_step());
  CHECK(held.steps() == 4);
  CHECK(held.messages() == 12);
  CHECK(produced.messages() == 12);
  CHECK(to_string(held) == to_string(produced));
}

TEST_CASE("a step that does not exist is refused") {
  Step step;
  CHECK_THROWS_WITH_AS(ring_allreduce(3).channels.front().produce(4, step), "internal error: step 4 of a schedule of 4 steps",
                       std::logic_error);
  CHECK_THROWS_AS(ring_allreduce(3).channels.front().produce(-1, step), std::logic_error);
}

TEST_CASE("local operations are not messages") {
  Schedule s{.ranks = 2};
  Step& step = s.add_step();
  step.copy({.from = 0, .to = 0, .chunk = 0});
  step.copy({.from = 0, .to = 1, .chunk = 0});
  CHECK(s.messages() == 1);
}

TEST_CASE("chunks of a message differ by one element at most, and refining them keeps their borders") {
  for (const std::int64_t elements : {0LL, 1LL, 6LL, 7LL, 8LL, 1'000'003LL, 4'000'000'000'000'000'001LL})
    for (const int chunks : {1, 3, 7, 64}) {
      CAPTURE(elements);
      CAPTURE(chunks);
      const ChunkLayout layout{.elements = elements, .chunks = chunks};
      const ChunkLayout fine{.elements = elements, .chunks = chunks * 5};
      CHECK(layout.begin(0) == 0);
      CHECK(layout.begin(chunks) == elements);
      for (int c = 0; c < chunks; ++c) {
        CHECK(layout.size(c, 1) - elements / chunks >= 0);
        CHECK(layout.size(c, 1) - elements / chunks <= 1);
        CHECK(layout.begin(c) == fine.begin(5 * c));
        CHECK(layout.size(chunks + c, 1) == layout.size(c, 1));  // extra chunks
      }
    }
}

TEST_CASE("the last piece of each part is smaller than the others, which are alike") {
  // Two parts of 35 elements, each of three pieces of 10 and a half of one.
  const ChunkLayout layout{.elements = 70, .chunks = 8, .last_piece = {.of = 4, .part = 0.5}};
  std::vector<std::int64_t> sizes;
  for (int c = 0; c < 10; ++c) sizes.push_back(layout.size(c, 1));  // the last two are extra
  CHECK(sizes == std::vector<std::int64_t>{10, 10, 10, 5, 10, 10, 10, 5, 10, 10});
  CHECK(layout.size(2, 4) == 35);
  for (const std::int64_t elements : {0LL, 1LL, 3LL, 1'000'003LL})
    for (const double part : {1e-9, 0.3, 0.999}) {
      CAPTURE(elements);
      CAPTURE(part);
      const ChunkLayout any{.elements = elements, .chunks = 12, .last_piece = {.of = 3, .part = part}};
      CHECK(any.begin(12) == elements);
      for (int c = 0; c < 12; ++c) CHECK(any.size(c, 1) >= 0);
    }
}

TEST_CASE("mod is never negative") {
  CHECK(mod(-1, 5) == 4);
  CHECK(mod(-10, 5) == 0);
  CHECK(mod(7, 5) == 2);
  CHECK(mod(-3, 1) == 0);
}

}  // namespace weft
