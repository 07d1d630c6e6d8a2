#include "sim/network/chains.hpp"

#include "sim/network/fluid.hpp"

#include <random>

#include <doctest/doctest.h>

using namespace weft;

namespace {

using FluidChains = Chains<FluidNetwork>;

}  // namespace

TEST_CASE("chains: ranks whose messages meet no other enter each step when their own message and the one before allow it") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
    const auto ranks = static_cast<std::size_t>(1 + below(12));
    // A permutation, some of whose messages are left out: rings, chains and ranks that do nothing.
    std::vector<Rank> to(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) to[rank] = static_cast<Rank>(rank);
    std::ranges::shuffle(to, random);
    std::vector<FluidChains::Way> ways(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank)
      if (to[rank] != static_cast<Rank>(rank) && below(6) > 0) ways[rank].to = to[rank];
    std::vector<FluidChains::Dates> dates(ranks);
    for (auto& each : dates) each.entered = below(3000);
    std::vector<FluidChains::Part> parts(static_cast<std::size_t>(1 + below(3)));
    for (auto& part : parts) {
      part.steps = static_cast<int>(1 + below(20));
      part.of.resize(ranks);
      for (std::size_t rank = 0; rank < ranks; ++rank)
        if (ways[rank].to >= 0) {
          auto& costs = part.of[rank];
          costs.ahead = below(100), costs.alone = below(1000), costs.behind = below(50);
          part.of[static_cast<std::size_t>(ways[rank].to)].work = below(70);
        }
    }

    const bool to_receiver = seed % 4 == 0;
    std::vector<FluidChains::Dates> expected = dates;
    for (const auto& part : parts)
      for (int step = 0; step < part.steps; ++step) {
        std::vector<std::int64_t> ready(ranks);  // to work
        for (std::size_t rank = 0; rank < ranks; ++rank) ready[rank] = std::max(ready[rank], expected[rank].entered);
        for (std::size_t rank = 0; rank < ranks; ++rank) {
          if (ways[rank].to < 0) continue;
          const auto& costs = part.of[rank];
          const std::int64_t end = expected[rank].entered + costs.ahead + costs.alone;
          std::int64_t& receiver = ready[static_cast<std::size_t>(ways[rank].to)];
          receiver = std::max(receiver, end + costs.behind);
          ready[rank] = std::max(ready[rank], to_receiver ? end + costs.behind : end);
          expected[rank].last_end = end;
        }
        for (std::size_t rank = 0; rank < ranks; ++rank) expected[rank].entered = ready[rank] + part.of[rank].work;
      }

    FluidChains chains(FluidNetwork({}), ways, to_receiver ? FluidChains::Waits::for_receivers : FluidChains::Waits::for_links);
    CHECK(chains.run(parts, dates));
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      CAPTURE(rank);
      CHECK(dates[rank].entered == expected[rank].entered);
      CHECK(dates[rank].last_end == expected[rank].last_end);
    }
  }
}

TEST_CASE("chains: two rings that share a link pass it by turns or together, whichever step each is in") {
  // Ranks 0 and 1 are a ring, 2 and 3 another; 0 and 2 send 1000 bytes over one link of 8 Gb/s, 1 us each if alone. 1 and 3 take 3 us.
  // Both begin at 0: 2 us together, while 1 and 3 send too, until 3 us. From there on all enter together every 3 us.
  FluidNetwork network({8_Gbps});
  const std::vector<Hop> over{{.link = 0}};
  const std::uint32_t route = network.add_route(over, {});
  const FluidChains::Costs fast{.alone = (1_us).ps, .wire_bytes = 1000}, slow{.alone = (3_us).ps, .wire_bytes = 1000};
  const std::vector<FluidChains::Way> ways{
      {.to = 1, .meets = true, .route = route}, {.to = 0}, {.to = 3, .meets = true, .route = route}, {.to = 2}};
  const std::vector<FluidChains::Part> parts{{.steps = 1000, .of = {fast, slow, fast, slow}}};
  std::vector<FluidChains::Dates> dates(4);
  CHECK(FluidChains(network, ways, FluidChains::Waits::for_links).run(parts, dates));
  for (const FluidChains::Dates& each : dates) CHECK(each.entered == 1000 * (3_us).ps);
  CHECK(dates[0].last_end == 999 * (3_us).ps + (2_us).ps);

  // If the second begins 1.5 us later, they never meet.
  dates.assign(4, {});
  dates[2].entered = dates[3].entered = (1500_ns).ps;
  CHECK(FluidChains(network, ways, FluidChains::Waits::for_links).run(parts, dates));
  CHECK(dates[0].last_end == 999 * (3_us).ps + (1_us).ps);
  CHECK(dates[2].entered == 1000 * (3_us).ps + (1500_ns).ps);
}

TEST_CASE("chains: what takes longer than can be simulated is left to the events") {
  const std::vector<FluidChains::Way> ways{{.to = 1}, {.to = 0}};
  const FluidChains::Costs day{.alone = std::int64_t{86'400} * 1'000'000'000'000};
  std::vector<FluidChains::Dates> dates(2);
  const std::vector<FluidChains::Part> parts{{.steps = 1000, .of = {day, day}}};
  CHECK_FALSE(FluidChains(FluidNetwork({}), ways, FluidChains::Waits::for_links).run(parts, dates));
}
