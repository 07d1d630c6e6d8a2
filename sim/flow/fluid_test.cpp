#include "sim/flow/fluid.hpp"

#include <array>
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;

namespace {

struct Demand {
  std::vector<Hop> hops;
  SimTime latency;
  std::int64_t bytes;
  SimTime at;
  FlowTerms terms = {};
};

using TwoWayLoads = std::vector<std::pair<LinkId, TwoWayLoad>>;

std::vector<SimTime> ends_of(const std::vector<BitsPerSecond>& capacity, const std::vector<Demand>& demands,
                             const TwoWayLoads& two_way = {}) {
  FluidNetwork network(capacity);
  for (const auto& [link, load] : two_way) network.lose_two_way(link, load);
  std::vector<SimTime> ends(demands.size());
  for (std::uint32_t i = 0; i < demands.size(); ++i)
    network.start(network.add_route(demands[i].hops, demands[i].latency, demands[i].terms), demands[i].bytes, demands[i].at, i);
  while (network.next_date() != SimTime::never()) network.advance([&](std::uint32_t token) { ends[token] = network.now(); });
  return ends;
}

// Progressive filling: at every event all rates again, by raising the rates of all flows together, each in proportion to its
// weight, until a link or a rate cap stops some, and so on with the others.
std::vector<double> ends_by_the_book(const std::vector<BitsPerSecond>& capacity, const std::vector<Demand>& demands,
                                     const TwoWayLoads& two_way = {}) {
  const std::size_t n = demands.size();
  std::vector<double> start(n), left(n), rate(n), end(n, -1);
  for (std::size_t i = 0; i < n; ++i) {
    start[i] = demands[i].at.seconds() + demands[i].latency.seconds();
    left[i] = 8.0 * static_cast<double>(demands[i].bytes);
  }
  double now = 0;
  for (;;) {
    std::vector<bool> active(n), frozen(n);
    double next = HUGE_VAL;
    for (std::size_t i = 0; i < n; ++i) {
      active[i] = end[i] < 0 && start[i] <= now;
      frozen[i] = !active[i];
      rate[i] = 0;
      if (end[i] < 0 && !active[i]) next = std::min(next, start[i]);
    }
    std::vector<double> bound;
    for (const BitsPerSecond c : capacity) bound.push_back(static_cast<double>(c.count));
    for (const auto& [link, load] : two_way) {
      const auto crossing = [&](LinkId id) {
        double count = 0;
        for (std::size_t i = 0; i < n; ++i)
          for (const Hop& hop : demands[i].hops) count += active[i] && hop.link == id ? 1 : 0;
        return count;
      };
      const double there = crossing(link), back = crossing(load.opposite);
      if (there == 0 || back == 0) continue;
      for (const LinkId id : {link, load.opposite}) {
        double& b = bound[static_cast<std::size_t>(id)];
        if (load.rate.count > 0) b = std::min(b, static_cast<double>(load.rate.count) / (there + back));
        if (load.duplex.count > 0) b = std::min(b, static_cast<double>(load.duplex.count));
      }
    }
    for (;;) {
      double least = HUGE_VAL;
      std::vector<double> share(capacity.size(), HUGE_VAL);
      for (std::size_t l = 0; l < capacity.size(); ++l) {
        double room = bound[l], waiting = 0;
        for (std::size_t i = 0; i < n; ++i)
          for (const Hop& hop : demands[i].hops)
            if (hop.link == static_cast<LinkId>(l)) room -= rate[i], waiting += frozen[i] ? 0 : demands[i].terms.weight;
        if (waiting > 0) least = std::min(least, share[l] = room / waiting);
      }
      const auto rate_cap = [&](std::size_t i) {
        const FlowTerms& terms = demands[i].terms;
        return terms.rate_cap.count > 0 ? static_cast<double>(terms.rate_cap.count) / terms.weight : HUGE_VAL;
      };
      for (std::size_t i = 0; i < n; ++i)
        if (!frozen[i]) least = std::min(least, rate_cap(i));
      if (least == HUGE_VAL) break;
      const auto stop = [&](std::size_t i) { rate[i] = least * demands[i].terms.weight, frozen[i] = true; };
      for (std::size_t i = 0; i < n; ++i) {
        if (!frozen[i] && rate_cap(i) <= least * (1 + 1e-12)) stop(i);
        for (const Hop& hop : demands[i].hops)
          if (!frozen[i] && share[static_cast<std::size_t>(hop.link)] <= least * (1 + 1e-12)) stop(i);
      }
    }
    for (std::size_t i = 0; i < n; ++i)
      if (active[i]) next = std::min(next, now + left[i] / rate[i]);
    if (next == HUGE_VAL) return end;
    for (std::size_t i = 0; i < n; ++i) {
      if (!active[i]) continue;
      const double until = now + left[i] / rate[i];
      left[i] -= rate[i] * (next - now);
      if (until <= next + 1e-15) end[i] = next;
    }
    now = next;
  }
}

}  // namespace

TEST_CASE("fluid: a flow alone takes its latency and the exact quotient of its narrowest link") {
  // 3 us + 1 MB / 100 Gb/s = 80 us
  CHECK(ends_of({100_Gbps, 400_Gbps}, {{{{1, 0}, {0, 0}}, 3_us, (1_MB).count, 0_us}}) == std::vector{83_us});
  // 1 B / 3 b/s, rounded up to the picosecond
  CHECK(ends_of({{3}}, {{{{0, 0}}, 0_us, 1, 0_us}})[0].ps == 2'666'666'666'667);
}

TEST_CASE("fluid: a message of no bytes takes the latency") {
  CHECK(ends_of({100_Gbps}, {{{{0, 0}}, 3_us, 0, 1_us}}) == std::vector{4_us});
}

TEST_CASE("fluid: two flows on a link share it equally, whatever their latencies, and the last one speeds up") {
  // From 1 us to 10 us the first alone: 9 us x 100 Gb/s = 112.5 kB of its 1 MB. Then halves: the first still needs 887.5 kB,
  // 142 us, until 152 us. The second has then 112.5 kB left, alone 9 us: 161 us.
  CHECK(ends_of({100_Gbps}, {{{{0, 0}}, 1_us, 1'000'000, 0_us}, {{{0, 0}}, 10_us, 1'000'000, 0_us}}) == std::vector{152_us, 161_us});
}

TEST_CASE("fluid: what a flow cannot use for another bottleneck goes to the others") {
  // Link 0: 100 Gb/s for a and b; b also crosses link 1 of 20 Gb/s. a gets 80 Gb/s: 1 MB in 100 us. b: 250 kB in 100 us.
  CHECK(ends_of({100_Gbps, 20_Gbps}, {{{{0, 0}}, 0_us, 1'000'000, 0_us}, {{{0, 0}, {1, 0}}, 0_us, 250'000, 0_us}}) ==
        std::vector{100_us, 100_us});
}

TEST_CASE("fluid: a flow that leaves frees a chain of others") {
  // Links 0 and 1 of 100 Gb/s. a on 0, b on both, c on 1: 50 Gb/s each. a (0.5 MB) ends at 80 us; then b is still held to 50 by c
  // on link 1, so nothing changes for b and c: 1 MB each at 160 us.
  CHECK(ends_of({100_Gbps, 100_Gbps},
                {{{{0, 0}}, 0_us, 500'000, 0_us}, {{{0, 0}, {1, 0}}, 0_us, 1'000'000, 0_us}, {{{1, 0}}, 0_us, 1'000'000, 0_us}}) ==
        std::vector{80_us, 160_us, 160_us});
  // The same with c shorter: c (0.5 MB) leaves at 80 us too, so b has both links: 0.5 MB more at 100 Gb/s, 40 us.
  CHECK(ends_of({100_Gbps, 100_Gbps},
                {{{{0, 0}}, 0_us, 500'000, 0_us}, {{{0, 0}, {1, 0}}, 0_us, 1'000'000, 0_us}, {{{1, 0}}, 0_us, 500'000, 0_us}}) ==
        std::vector{80_us, 120_us, 80_us});
}

TEST_CASE("fluid: a flow that becomes slower keeps the event that it has") {
  // The k-th of 20 flows over one link makes the k - 1 before it slower, which would be 190 events. Each has one when it starts, one when
  // it would have ended alone and one more each time that it was put off; those that leave make the others faster only by what is left.
  FluidNetwork network({100_Gbps});
  constexpr std::uint32_t flows = 20;
  for (std::uint32_t i = 0; i < flows; ++i) {
    const std::vector<Hop> hops = {{0, 0}};
    network.start(network.add_route(hops, 0_us, {}), 1'000'000, SimTime{i * (1_us).ps}, i);
  }
  while (network.now() < 100_us) network.advance([](std::uint32_t) {});
  CHECK(network.events() <= 2 * flows);
  SimTime last;
  while (network.next_date() != SimTime::never()) network.advance([&](std::uint32_t) { last = network.now(); });
  CHECK(last >= 1600_us);  // 20 MB at 100 Gb/s, never idle, each share rounded up
  CHECK(last < 1600_us + 1_ns);
}

TEST_CASE("fluid: flows share their bottleneck in proportion to their weights") {
  // 100 Gb/s for weights 3 and 1: 75 and 25 Gb/s. a: 750 kB in 80 us; b has had 250 kB by then, and 750 kB more alone in 60 us.
  CHECK(ends_of({100_Gbps}, {{{{0, 0}}, 0_us, 750'000, 0_us, {.weight = 3}}, {{{0, 0}}, 0_us, 1'000'000, 0_us, {.weight = 1}}}) ==
        std::vector{80_us, 140_us});
  // Alone, a weight is worth nothing.
  CHECK(ends_of({100_Gbps}, {{{{0, 0}}, 0_us, 1'000'000, 0_us, {.weight = 0.25}}}) == std::vector{80_us});
}

TEST_CASE("fluid: a flow does not pass its rate cap, and what it leaves goes to the others") {
  CHECK(ends_of({100_Gbps}, {{{{0, 0}}, 0_us, 1'000'000, 0_us, {.rate_cap = 20_Gbps}}}) == std::vector{400_us});
  // a at 20 Gb/s, b at 80: 1 MB in 100 us. Then a goes on at 20.
  CHECK(ends_of({100_Gbps}, {{{{0, 0}}, 0_us, 1'000'000, 0_us, {.rate_cap = 20_Gbps}}, {{{0, 0}}, 0_us, 1'000'000, 0_us}}) ==
        std::vector{400_us, 100_us});
  // A rate cap above the fair share is not felt.
  CHECK(ends_of({100_Gbps}, {{{{0, 0}}, 0_us, 1'000'000, 0_us, {.rate_cap = 60_Gbps}}, {{{0, 0}}, 0_us, 500'000, 0_us}})[1] == 80_us);
}

TEST_CASE("fluid: flows both ways have a rate a direction that falls with their number, and the whole link once one direction is empty") {
  // 80 Gb/s one way, 20 Gb/s / n a direction both ways. a there, b back: 10 Gb/s each. b (125 kB) ends at 100 us; a has 125 kB then, and
  // 1 MB - 125 kB = 875 kB more at 80 Gb/s: 87.5 us.
  const TwoWayLoads load{{0, {.opposite = 1, .rate = 20_Gbps}}};
  CHECK(ends_of({80_Gbps, 80_Gbps}, {{{{0, 0}}, 0_us, 1'000'000, 0_us}, {{{1, 0}}, 0_us, 125'000, 0_us}}, load) ==
        std::vector{187'500_ns, 100_us});
  // Two there, one back: 20 / 3 Gb/s a direction, which the two share. 62.5 kB back take 75 us; the two have 31.25 kB each by then, and
  // the rest of 111.25 kB each, 80 kB, at 40 Gb/s: 16 us.
  CHECK(ends_of({80_Gbps, 80_Gbps}, {{{{0, 0}}, 0_us, 111'250, 0_us}, {{{0, 0}}, 0_us, 111'250, 0_us}, {{{1, 0}}, 0_us, 62'500, 0_us}},
                load) == std::vector{91_us, 91_us, 75_us});
  // One way, however many: the whole link. Nothing is lost where the link gives less anyway.
  CHECK(ends_of({80_Gbps, 80_Gbps}, {{{{0, 0}}, 0_us, 1'000'000, 0_us}, {{{0, 0}}, 0_us, 1'000'000, 0_us}}, load) ==
        std::vector{200_us, 200_us});
  CHECK(ends_of({8_Gbps, 8_Gbps}, {{{{0, 0}}, 0_us, 1'000'000, 0_us}, {{{1, 0}}, 0_us, 1'000'000, 0_us}}, load) == std::vector{1_ms, 1_ms});
}

TEST_CASE("fluid: a link has its duplex rate in each direction while both are used, however many flows there are") {
  // 80 Gb/s one way, 20 Gb/s a direction both ways. 125 kB back take 50 us; by then 125 kB are there, and 875 kB more take 87.5 us.
  const TwoWayLoads load{{0, {.opposite = 1, .duplex = 20_Gbps}}};
  CHECK(ends_of({80_Gbps, 80_Gbps}, {{{{0, 0}}, 0_us, 1'000'000, 0_us}, {{{1, 0}}, 0_us, 125'000, 0_us}}, load) ==
        std::vector{137'500_ns, 50_us});
  // Two each way share it: 10 Gb/s each.
  CHECK(ends_of({80_Gbps, 80_Gbps},
                {{{{0, 0}}, 0_us, 125'000, 0_us},
                 {{{0, 0}}, 0_us, 125'000, 0_us},
                 {{{1, 0}}, 0_us, 125'000, 0_us},
                 {{{1, 0}}, 0_us, 125'000, 0_us}},
                load) == std::vector(4, 100_us));
  // A flow that crosses it there and back uses both directions.
  CHECK(ends_of({80_Gbps, 80_Gbps}, {{{{0, 0}, {1, 0}}, 0_us, 125'000, 0_us}}, load) == std::vector{50_us});
}

void require_ends_by_the_book(const std::vector<BitsPerSecond>& capacity, const std::vector<Demand>& demands,
                              const TwoWayLoads& two_way = {}) {
  const auto ends = ends_of(capacity, demands, two_way);
  const auto expected = ends_by_the_book(capacity, demands, two_way);
  for (std::size_t i = 0; i < demands.size(); ++i) {
    CAPTURE(i);
    REQUIRE(ends[i].seconds() == doctest::Approx(expected[i]).epsilon(1e-9));
  }
}

enum class Shares { equal, weighted, two_way };

void compare_with_reference(Shares shares) {
  const bool weighted = shares != Shares::equal;
  std::mt19937_64 random(11);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (int round = 0; round < 400; ++round) {
    CAPTURE(round);
    std::vector<BitsPerSecond> capacity;
    for (std::size_t l = 0, links = 1 + below(12); l < links; ++l) capacity.push_back(static_cast<std::int64_t>(1 + below(4)) * 25_Gbps);
    TwoWayLoads two_way;
    if (shares == Shares::two_way)
      for (std::size_t l = 0; l + 1 < capacity.size(); l += 2 + below(3))
        two_way.push_back({static_cast<LinkId>(l),
                           {.opposite = static_cast<LinkId>(l + 1),
                            .rate = static_cast<std::int64_t>(1 + below(6)) * 30_Gbps,
                            .duplex = static_cast<std::int64_t>(below(5)) * 15_Gbps}});
    std::vector<Demand> demands(1 + below(40));
    for (Demand& d : demands) {
      std::map<LinkId, bool> used;
      for (std::size_t hops = 1 + below(5); hops > 0; --hops) used[static_cast<LinkId>(below(capacity.size()))] = true;
      for (const auto& [link, yes] : used) d.hops.push_back({link, 0});
      d.latency = SimTime{static_cast<std::int64_t>(below(3)) * 500'000};
      d.bytes = static_cast<std::int64_t>(1 + below(8)) * 125'000;
      d.at = SimTime{static_cast<std::int64_t>(below(4)) * 7'000'000};
      if (!weighted) continue;
      d.terms.weight = std::array{1.0, 1.0, 0.5, 0.1, 3.0, 0.7}[below(6)];
      if (below(3) == 0) d.terms.rate_cap = static_cast<std::int64_t>(1 + below(9)) * 7_Gbps;
    }
    require_ends_by_the_book(capacity, demands, two_way);
  }
}

TEST_CASE("fluid: random flows end when progressive filling's complete solution at every event says") {
  compare_with_reference(Shares::equal);
}

TEST_CASE("fluid: random flows with weights and rate caps end when progressive filling says") { compare_with_reference(Shares::weighted); }

TEST_CASE("fluid: random flows over links that lose rate when used both ways end when progressive filling says") {
  compare_with_reference(Shares::two_way);
}

TEST_CASE("fluid: messages of the cores of two sockets, each begun when it may be, end when progressive filling says") {
  // Each core has a link up and one down, each socket its memory in and out, which most messages cross, and one link to the other socket:
  // the usual change is of one memory's flows, until a core's link, the way across or a rate cap has a say.
  std::mt19937_64 random(5);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (int round = 0; round < 400; ++round) {
    CAPTURE(round);
    const std::size_t cores = 4 + 2 * below(9);
    std::vector<BitsPerSecond> capacity(2 * cores, static_cast<std::int64_t>(1 + below(5)) * 20_Gbps);
    for (int socket = 0; socket < 2; ++socket) {
      const BitsPerSecond memory = static_cast<std::int64_t>(2 + below(6)) * 25_Gbps;
      for (const BitsPerSecond rate : {memory, below(2) == 0 ? memory : 110_Gbps, static_cast<std::int64_t>(1 + below(9)) * 15_Gbps})
        capacity.push_back(rate);
    }
    const bool weighted = below(2) == 0;
    // Some rounds have idle times, some many messages that come at one date.
    const std::size_t within = std::array<std::size_t, 4>{10, 200, 2'000, 6'000}[below(4)], step_ps = within == 10 ? 20'000'000 : 1'000'003;
    std::vector<Demand> demands(80);
    for (Demand& d : demands) {
      const std::size_t from = below(cores), to = below(cores), socket = from * 2 / cores;
      const auto link = [](std::size_t id) { return Hop{static_cast<LinkId>(id), 0}; };
      d.hops = {link(from)};
      for (const std::size_t of_memory : {0, 1})
        if (below(9) > 0) d.hops.push_back(link(2 * cores + 3 * socket + of_memory));
      if (to * 2 / cores != socket) d.hops.push_back(link(2 * cores + 3 * socket + 2));
      d.hops.push_back(link(cores + to));
      if (round % 3 == 0 && below(4) == 0) d.hops.push_back(d.hops[below(d.hops.size())]);  // crosses it twice
      d.bytes = static_cast<std::int64_t>(1 + below(200)) * 5'000;
      d.at = SimTime{static_cast<std::int64_t>(below(within) * step_ps)};
      if (!weighted) continue;
      d.terms.weight = to * 2 / cores != socket ? 0.4 : 1.0;
      if (below(20) == 0) d.terms.rate_cap = static_cast<std::int64_t>(1 + below(4)) * 3_Gbps;
    }
    require_ends_by_the_book(capacity, demands);
  }
}

TEST_CASE("fluid: routes longer than those before leave running flows in place") {
  FluidNetwork network({100_Gbps, 100_Gbps, 100_Gbps, 100_Gbps, 100_Gbps, 100_Gbps});
  std::vector<SimTime> ends(3);
  const std::vector<Hop> one{{0, 0}}, six{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}, {5, 0}};
  const auto narrow = network.add_route(one, 0_us);
  network.start(narrow, 1'000'000, 0_us, 0);
  network.start(narrow, 1'000'000, 0_us, 1);
  network.advance([](std::uint32_t) {});
  network.start(network.add_route(six, 0_us), 1'000'000, network.now(), 2);
  while (network.next_date() != SimTime::never()) network.advance([&](std::uint32_t token) { ends[token] = network.now(); });
  CHECK(ends == std::vector{240_us, 240_us, 240_us});  // three equal flows on one link
}

TEST_CASE("fluid: of tens of thousands of flows each is late by what is said at most, and none early") {
  // 200 sizes of 100 flows each over one link of 100 Gb/s, alike until the next smallest are through:
  // end of the k-th = end of the one before + (size - size before) x 8 x (flows left) / rate.
  constexpr std::int64_t groups = 200, each = 100, step = 1000;
  std::vector<Demand> demands;
  for (std::int64_t g = 1; g <= groups; ++g)
    for (std::int64_t i = 0; i < each; ++i) demands.push_back({.hops = {{0, 0}}, .latency = {}, .bytes = g * step, .at = {}});
  const std::vector<SimTime> ends = ends_of({100_Gbps}, demands);
  double exact = 0, before = 0;
  for (std::int64_t g = 0; g < groups; ++g) {
    const double left = static_cast<double>((groups - g) * each);
    exact += 8.0 * step * left / 100e9;
    const double end = ends[static_cast<std::size_t>(g * each)].seconds();
    CAPTURE(g);
    CHECK(end >= exact * (1 - 1e-9));
    // 1e-4 / 16384 for each of the 20000, of what the flow takes at its rate, which is no more than four times what it took; the
    // lateness of those before it included.
    CHECK(end <= exact * (1 + 4 * 20000 * 1e-4 / 16384));
    CHECK(end > before);
    before = end;
  }
}
