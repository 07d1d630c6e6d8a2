#include "sim/executor/rotation.hpp"

#include "sim/flow/fluid.hpp"

#include <array>
#include <cstdlib>
#include <random>

#include <doctest/doctest.h>

using namespace weft;

namespace {

using Turns = Rotation<FluidNetwork>;
using Walk = Chains<FluidNetwork>;

// A ring over servers of so many ranks. Each server has a memory, which any messages may go through, and a link to and from the others.
struct RingOfServers {
  std::size_t servers = 2, ranks = 1;
  FluidNetwork network{{}};
  std::vector<Walk::Way> ways = {};
  std::vector<Walk::Part> parts = {};
  std::vector<std::int64_t> entered = {};
  std::vector<LinkId> memory = {}, out = {}, in = {};

  std::size_t places() const { return servers * ranks; }
  std::vector<Walk::Dates> dates() const {
    std::vector<Walk::Dates> begun;
    for (const std::int64_t at : entered) begun.push_back({.entered = at});
    return begun;
  }
  Turns rotation() const { return {network, ways, entered, parts, places()}; }
};

// What the ranks of one server do is drawn, and those of the others do the same.
RingOfServers drawn(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  RingOfServers out{.servers = static_cast<std::size_t>(2 + below(5)), .ranks = static_cast<std::size_t>(1 + below(5))};
  const bool two_way = below(2) == 0;
  for (std::size_t server = 0; server < out.servers; ++server) {
    out.memory.push_back(out.network.add_link(40_Gbps));
    out.out.push_back(out.network.add_link(24_Gbps));
    out.in.push_back(out.network.add_link(24_Gbps));
    if (two_way) out.network.lose_two_way(out.out.back(), {.opposite = out.in.back(), .rate = 32_Gbps});
  }
  std::vector<bool> through_memory;
  std::vector<std::int64_t> begins;
  Walk::Part part{.steps = 40, .of = {}};
  std::vector<Walk::Costs> of_rank(out.ranks);
  for (std::size_t rank = 0; rank < out.ranks; ++rank) {
    through_memory.push_back(below(3) > 0);
    begins.push_back(below(3000));
    of_rank[rank] = {.sends = below(60), .alone = 400 + below(900), .behind = below(50), .work = below(70), .wire_bytes = 1 + below(4000)};
    of_rank[rank].ahead = of_rank[rank].sends + below(100);
  }
  for (std::size_t place = 0; place < out.places(); ++place) {
    const std::size_t server = place / out.ranks, rank = place % out.ranks, next = (server + 1) % out.servers;
    std::vector<Hop> hops;
    if (through_memory[rank]) hops.push_back({.link = out.memory[server]});
    if (rank + 1 == out.ranks) {
      hops.push_back({.link = out.out[server]});
      hops.push_back({.link = out.in[next]});
      if (through_memory[rank]) hops.push_back({.link = out.memory[next]});
    }
    const bool meets = !hops.empty();
    out.ways.push_back({.to = static_cast<Rank>((place + 1) % out.places()), .meets = meets});
    if (meets)
      out.ways.back().route =
          out.network.add_route(hops, {}, {.rate_cap = BitsPerSecond{static_cast<std::int64_t>(rank + 1) * 8'000'000'000}});
    part.of.push_back(of_rank[rank]);
    out.entered.push_back(begins[rank]);
  }
  out.parts = {part, part};
  out.parts.back().steps = 7;
  for (Walk::Costs& costs : out.parts.back().of) ++costs.work;
  return out;
}

}  // namespace

TEST_CASE("rotation: the ranks of one server stand for those of all that are alike") {
  constexpr std::int64_t rounding = 100;  // ps of some 100 us: rates that add up in another order
  int contended = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    const RingOfServers ring = drawn(seed);
    const Walk::Waits waits = std::array{Walk::Waits::for_links, Walk::Waits::for_receivers, Walk::Waits::for_nothing}[seed % 3];
    const Turns rotation = ring.rotation();
    REQUIRE(rotation.found());
    CHECK(rotation.places() <= ring.ranks);

    std::vector<Walk::Dates> of_all = ring.dates(), of_one(rotation.places());
    for (std::size_t place = 0; place < ring.places(); ++place) of_one[rotation.stands_for(place)] = of_all[place];
    const bool walked = Walk(ring.network, ring.ways, waits).run(ring.parts, of_all);
    CHECK(Walk(rotation.network(), rotation.ways(), waits).run(rotation.parts(ring.parts), of_one) == walked);
    if (!walked) continue;
    contended += rotation.ways().front().meets ? 1 : 0;
    for (std::size_t place = 0; place < ring.places(); ++place) {
      CAPTURE(place);
      const Walk::Dates& one = of_one[rotation.stands_for(place)];
      CHECK(std::abs(of_all[place].entered - one.entered) <= rounding);
      CHECK(std::abs(of_all[place].last_end - one.last_end) <= rounding);
    }
  }
  CHECK(contended > 50);
}

TEST_CASE("rotation: nothing stands for servers one of which differs, or which share a link") {
  const RingOfServers alike = drawn(3);
  REQUIRE(alike.rotation().found());

  RingOfServers late = alike;
  ++late.entered.front();
  CHECK_FALSE(late.rotation().found());

  RingOfServers busy = alike;
  ++busy.parts.back().of.front().work;
  CHECK_FALSE(busy.rotation().found());

  const auto with_routes = [&](const auto& hops_of_place) {
    RingOfServers out = alike;
    for (std::size_t place = 0; place < out.places(); ++place) {
      out.ways[place].meets = true;
      out.ways[place].route = out.network.add_route(hops_of_place(place), {});
    }
    return out;
  };
  const auto memory_of = [&](std::size_t place) { return std::vector<Hop>{{.link = alike.memory[place / alike.ranks]}}; };
  CHECK(with_routes(memory_of).rotation().found());
  CHECK_FALSE(with_routes([&](std::size_t) { return memory_of(0); }).rotation().found());
  CHECK_FALSE(with_routes([&](std::size_t place) { return memory_of(place == 0 ? alike.ranks : place); }).rotation().found());

  RingOfServers slow = with_routes(memory_of);
  const std::vector<Hop> slower{{.link = slow.network.add_link(39_Gbps)}};
  for (std::size_t rank = 0; rank < slow.ranks; ++rank) slow.ways[rank].route = slow.network.add_route(slower, {});
  CHECK_FALSE(slow.rotation().found());
}
