// What is walked without events is held against the events, which a run with a timeline goes through.
#include "collectives/libraries/nccl.hpp"
#include "collectives/schedule/repeated_steps.hpp"
#include "models/fabric/analysis/link_load.hpp"
#include "models/fabric/fabric_test.hpp"
#include "models/fabric/placement.hpp"
#include "sim/executor/program_driver.hpp"
#include "sim/flow/fluid.hpp"
#include "sim/flow/goodput.hpp"
#include "sim/network/testing.hpp"

#include <optional>
#include <random>

#include <doctest/doctest.h>

using namespace weft;
using weft::test::link_100g;

namespace {

struct Ended {
  NetworkRun run;
  std::optional<PathParts> path;
};

enum class By { whatever_suits, events };
struct AskedRun {
  Repetition repetition = {};
  bool path = true;  // where it is not asked for, steps may be counted without being walked
  Regime regime = {};
};

Ended ended(const AnyRun& c, const Fabric& fabric, const Schedule& schedule, By by, const AskedRun& asked = {}) {
  Routes routes(fabric, c.ecmp);
  link_load(schedule, c.placement, routes);  // chooses them all, as an experiment does: some policies go by the order they are asked for
  SharedNetwork<FluidNetwork> network(goodput_of_links(fabric, c.hardware));
  lose_two_way(fabric, network.model());
  std::vector<std::int64_t> nic_free_at(static_cast<std::size_t>(fabric.links()));
  std::vector<MessageRecord> messages;
  Program program = program_of(schedule, c.elements, 4);
  program.calls.front().regime = asked.regime;
  ProgramDriver driver({.program = program,
                        .placement = c.placement,
                        .hardware = c.hardware,
                        .start = c.start,
                        .repetition = asked.repetition,
                        .timeline = by == By::events ? &messages : nullptr,
                        .find_path = asked.path},
                       routes, network, nic_free_at);
  run_to_end(network, Around::nothing);
  Ended out{driver.result(), driver.critical_path()};
  out.run.events = network.model().events();
  return out;
}

void check_same(const Ended& walked, const Ended& events) {
  CHECK(walked.run.finish == events.run.finish);
  CHECK(walked.run.rank_finish == events.run.rank_finish);
  CHECK(walked.run.bytes_on_link == events.run.bytes_on_link);
  CHECK(walked.run.messages == events.run.messages);
  REQUIRE(walked.path.has_value() == events.path.has_value());
  if (!walked.path) return;
  CHECK(walked.path->latency == events.path->latency);
  CHECK(walked.path->overhead == events.path->overhead);
  CHECK(walked.path->waiting == events.path->waiting);
  CHECK(walked.path->computing == events.path->computing);
  CHECK(walked.path->links == events.path->links);
  CHECK(walked.path->reduce_engines == events.path->reduce_engines);
}

// Messages that met no other have been walked.
bool was_walked(const Ended& e) { return e.run.events == 0 && e.run.messages > 0; }

AnyRun ring_of(const FabricSpec& fabric, Bytes size) {
  AnyRun c;
  c.fabric = fabric;
  c.request.algorithm = "ring";
  c.request.ranks = static_cast<int>(endpoints(fabric));
  c.placement = place({}, c.request.ranks, fabric);
  c.elements = size.count / 4;
  return c;
}

}  // namespace

TEST_CASE("uncontended: a run without events gives what the events give, to the picosecond and link by link, on 1500 cases") {
  int walked = 0, contended = 0;
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    const AnyRun c = any_run(seed);
    CAPTURE(seed);
    CAPTURE(type_name(c.fabric));
    CAPTURE(c.request.algorithm);
    CAPTURE(c.request.ranks);
    const auto fabric = build(c.fabric);
    const Schedule schedule = build(c.request);
    const AskedRun asked{.repetition = {.iterations = seed % 4 == 0 ? 3 : 1, .compute = 7_us}, .path = seed % 3 > 0};
    const Ended plain = ended(c, *fabric, schedule, By::whatever_suits, asked);
    check_same(plain, ended(c, *fabric, schedule, By::events, asked));
    walked += was_walked(plain);
    contended += plain.run.events > 0;
  }
  CHECK(walked > 400);
  CHECK(contended > 400);
}

TEST_CASE("uncontended: steps that are only counted are those that the events go through, whatever the sizes, costs and starts") {
  const LinkSpec between{100_Gbps, 700_ns};
  const auto bigraph = [&](int switches, int nodes) {
    return BiGraph{.switches = switches, .nodes_per_switch = nodes, .host_link = link_100g, .fabric_link = between};
  };
  for (const auto& cluster :
       {std::pair<FabricSpec, int>{bigraph(16, 4), 64}, {bigraph(16, 4), 57}, {Star{.nodes = 48, .host_link = link_100g}, 48}})
    for (const std::int64_t elements : {0, 1, 64 * 57 * 48, 64 * 57 * 48 * 7 + 5})
      for (const char* algorithm : {"ring", "hierarchical_ring"})
        for (const bool costs : {false, true}) {
          const FabricSpec& fabric = cluster.first;
          const int ranks = cluster.second;
          AnyRun c = ring_of(fabric, Bytes{4 * elements});
          c.request.ranks = ranks;
          c.request.algorithm = algorithm;
          c.request.settings.group = 3;
          if (!constraints(c.request).empty()) continue;
          c.placement.resize(static_cast<std::size_t>(ranks));
          if (costs) {
            c.hardware.send_overhead = 1300_ns;
            c.hardware.reduce_rate = 300_Gbps;
            c.hardware.first_use = 2_us;
            c.hardware.rendezvous = 400_ns;
            c.hardware.rendezvous_threshold = 1_B;
            for (int r = 0; r < ranks; ++r) c.start.push_back(SimTime{r * 77'777});
          }
          CAPTURE(type_name(fabric));
          CAPTURE(algorithm);
          CAPTURE(ranks);
          CAPTURE(elements);
          CAPTURE(costs);
          const auto built = build(fabric);
          const Schedule schedule = build(c.request);
          const AskedRun asked{.repetition = {.iterations = 2}, .path = false};
          check_same(ended(c, *built, schedule, By::whatever_suits, asked), ended(c, *built, schedule, By::events, asked));
        }
}

TEST_CASE("uncontended: a ring in lockstep takes its closed form, step by step or counted") {
  // 2 x 95 steps of 1 us for two cables and 100 x 4 bytes at 100 Gb/s: 32 ns
  const AnyRun c = ring_of(Star{.nodes = 96, .host_link = link_100g}, Bytes{96 * 4 * 100});
  for (const bool path : {true, false}) {
    const Ended plain = ended(c, *build(c.fabric), build(c.request), By::whatever_suits, {.repetition = {.iterations = 2}, .path = path});
    CHECK(was_walked(plain));
    CHECK(plain.path.has_value() == path);
    CHECK(plain.run.finish == 2 * 2 * 95 * 1032_ns);
    CHECK(plain.run.messages == std::int64_t{2} * 2 * 96 * 95);
    CHECK(plain.run.bytes_on_link.front() == std::int64_t{2} * 2 * 95 * 400);
  }
}

TEST_CASE("uncontended: repeated steps whose messages share links alike are simulated once and counted, as the events have them") {
  // All members of a leaf send over its one cable to the spine at once.
  const auto tree = [](int leaves, int nodes) {
    return FatTree{.leaves = leaves, .nodes_per_leaf = nodes, .spines = 1, .host_link = link_100g, .fabric_link = link_100g};
  };
  for (const bool path : {true, false})
    for (const auto& shape : {std::pair{4, 4}, {7, 3}, {12, 2}})
      for (const bool costs : {false, true}) {
        const int leaves = shape.first, nodes = shape.second;
        AnyRun c = ring_of(tree(leaves, nodes), Bytes{4 * leaves * nodes * 1237});
        c.request.algorithm = "hierarchical_ring";
        c.request.settings.group = nodes;
        if (costs) {
          c.hardware.send_overhead = 1300_ns;
          c.hardware.reduce_rate = 300_Gbps;
          c.hardware.first_use = 2_us;
          c.hardware.rendezvous = 400_ns;
          c.hardware.rendezvous_threshold = 1_B;
        }
        CAPTURE(path);
        CAPTURE(leaves);
        CAPTURE(costs);
        const auto fabric = build(c.fabric);
        const Schedule schedule = build(c.request);
        const AskedRun asked{.repetition = {.iterations = 2}, .path = path};
        const Ended plain = ended(c, *fabric, schedule, By::whatever_suits, asked);
        CHECK(was_walked(plain));
        check_same(plain, ended(c, *fabric, schedule, By::events, asked));
      }
}

TEST_CASE("uncontended: groups that share links leave at other times than one another, until the slowest way sets the pace of all") {
  // Members of a group share no cable, but those that cross the spine may, and what crosses it comes later.
  const FabricSpec tree = FatTree{.leaves = 6, .nodes_per_leaf = 6, .spines = 3, .host_link = link_100g, .fabric_link = {40_Gbps, 3_us}};
  int walked = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    AnyRun c = ring_of(tree, Bytes{4 * 36 * 1237});
    c.ecmp.seed = seed;
    c.request.algorithm = "hierarchical_ring";
    c.request.settings.group = seed % 2 == 0 ? 2 : 3;
    if (seed % 3 == 0)
      for (int r = 0; r < 36; ++r) c.start.push_back(SimTime{r / 3 * static_cast<std::int64_t>(seed) * 1777});
    if (seed % 5 == 0) c.hardware.send_overhead = 300_ns, c.hardware.reduce_rate = 300_Gbps;
    CAPTURE(seed);
    const auto fabric = build(c.fabric);
    const Schedule schedule = build(c.request);
    const AskedRun asked{.path = seed % 4 < 2};
    const Ended plain = ended(c, *fabric, schedule, By::whatever_suits, asked);
    walked += was_walked(plain);
    check_same(plain, ended(c, *fabric, schedule, By::events, asked));
  }
  CHECK(walked > 10);
}

TEST_CASE("uncontended: rings that meet on some cables come to be many steps apart, and have events only there") {
  // Two or three members of each of 24 leaves send to the next leaf, and ECMP lets some of them share a cable. In a third of the cases
  // the cables between leaves are slow, in a fifth the ranks begin apart.
  int walked = 0, met = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const int nodes = seed % 2 == 0 ? 2 : 3, ranks = 24 * nodes;
    const LinkSpec between{seed % 3 == 0 ? 40_Gbps : 100_Gbps, seed % 7 == 0 ? 9_us : 700_ns};
    AnyRun c = ring_of(FatTree{.leaves = 24, .nodes_per_leaf = nodes, .spines = 5, .host_link = link_100g, .fabric_link = between},
                       Bytes{4 * ranks * (seed % 4 == 0 ? 50'000 : 1237)});
    c.ecmp.seed = seed;
    c.request.algorithm = "hierarchical_ring";
    c.request.settings.group = nodes;
    if (seed % 5 == 0)
      for (int r = 0; r < ranks; ++r) c.start.push_back(SimTime{r % 7 * static_cast<std::int64_t>(seed) * 17'771});
    if (seed % 6 == 0) c.hardware.send_overhead = 300_ns, c.hardware.reduce_rate = 300_Gbps, c.hardware.first_use = 2_us;
    CAPTURE(seed);
    const auto fabric = build(c.fabric);
    const Schedule schedule = build(c.request);
    const AskedRun asked{.repetition = {.iterations = seed % 8 == 0 ? 2 : 1}, .path = false};
    const Ended plain = ended(c, *fabric, schedule, By::whatever_suits, asked);
    walked += was_walked(plain);
    met += !was_walked(ended(c, *fabric, schedule, By::whatever_suits, {.repetition = asked.repetition, .path = true}));
    check_same(plain, ended(c, *fabric, schedule, By::events, asked));
  }
  CHECK(walked > 25);  // in the others ranks that have come to the last steps, within a leaf, meet those that have not
  CHECK(met > 20);     // where each step is recorded, they need events everywhere
}

TEST_CASE("uncontended: rings of any order whose messages meet at random are what the events have") {
  int walked = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    AnyRun c = ring_of(FatTree{.leaves = 8, .nodes_per_leaf = 6, .spines = 6, .host_link = link_100g, .fabric_link = {100_Gbps, 1_us}},
                       Bytes{4 * 48 * static_cast<std::int64_t>(40 + seed * 977 % 9000)});
    c.ecmp.seed = seed;
    std::mt19937_64 random(seed);
    for (std::uint64_t swaps = seed % 16; swaps > 0; --swaps) std::swap(c.placement[random() % 48], c.placement[random() % 48]);
    for (int r = 0; r < 48 && seed % 3 == 0; ++r) c.start.push_back(SimTime{static_cast<std::int64_t>(random() % 3'000'000)});
    if (seed % 4 == 0) c.hardware.receive_overhead = 411_ns;
    CAPTURE(seed);
    const auto fabric = build(c.fabric);
    const Schedule schedule = build(c.request);
    const Ended plain = ended(c, *fabric, schedule, By::whatever_suits, {.path = false});
    walked += was_walked(plain);
    check_same(plain, ended(c, *fabric, schedule, By::events, {.path = false}));
  }
  CHECK(walked > 100);
}

TEST_CASE("uncontended: channels of rings that share links are walked together, and steps that go on alike are counted") {
  // Rings of NCCL through servers whose GPUs are ranks behind a leaf: their channels share the cables of the ranks, and, where spines are
  // few, those between leaves.
  int walked = 0;
  for (std::uint64_t seed = 1; seed <= 90; ++seed) {
    const int gpus = seed % 2 == 0 ? 4 : 2, servers = 3 + static_cast<int>(seed % 7), ranks = gpus * servers;
    const int channels = 2 + static_cast<int>(seed % 3);
    const LinkSpec between{seed % 5 == 0 ? 30_Gbps : 100_Gbps, seed % 4 == 0 ? 3_us : 500_ns};
    AnyRun c = ring_of(FatTree{.leaves = servers,
                               .nodes_per_leaf = gpus,
                               .spines = 1 + static_cast<int>(seed % 4),
                               .host_link = link_100g,
                               .fabric_link = between},
                       Bytes{4 * ranks * channels * (seed % 6 < 2 ? 20'000 : 1237)});
    c.ecmp.seed = seed;
    if (seed % 9 == 0)
      for (int r = 0; r < ranks; ++r) c.start.push_back(SimTime{r % 5 * static_cast<std::int64_t>(seed) * 17'771});
    if (seed % 8 == 0) c.hardware.send_overhead = 300_ns, c.hardware.reduce_rate = 300_Gbps, c.hardware.first_use = 2_us;
    const NcclShape shape{.ranks = ranks, .gpus = gpus, .nics = seed % 3 == 0 ? gpus : 1, .channels = channels};
    const Schedule schedule = seed % 10 == 0   ? nccl_ring_allgather(shape)
                              : seed % 10 == 5 ? nccl_ring_reduce_scatter(shape)
                                               : nccl_ring_allreduce(shape);
    CAPTURE(seed);
    const auto fabric = build(c.fabric);
    AskedRun asked{.repetition = {.iterations = seed % 11 == 0 ? 2 : 1}, .path = false};
    if (seed % 2 == 1) asked.regime = {.protocol = NcclProtocol::simple, .between_servers = true};
    const Ended plain = ended(c, *fabric, schedule, By::whatever_suits, asked);
    walked += was_walked(plain);
    check_same(plain, ended(c, *fabric, schedule, By::events, asked));
  }
  CHECK(walked == 90);
}

TEST_CASE("uncontended: a rank by itself has no steps to walk, however many channels it has") {
  const AnyRun c = ring_of(Star{.nodes = 1, .host_link = link_100g}, 48_KiB);
  const auto fabric = build(c.fabric);
  for (const int channels : {1, 2, 3, 4}) {
    CAPTURE(channels);
    const Schedule schedule = nccl_ring_allreduce({.ranks = 1, .channels = channels});
    const Ended plain = ended(c, *fabric, schedule, By::whatever_suits, {.path = false});
    CHECK(plain.run.messages == 0);
    check_same(plain, ended(c, *fabric, schedule, By::events, {.path = false}));
  }
}

TEST_CASE(
    "uncontended: where so many flows share links that events let them end at dates of a grid, steps that are simulated once are exact") {
  // 4,224 ranks on two leaves, each of which sends 2,112 flows over one cable: 2 us of latency, then 2,112 x 40,000 bytes at 100 Gb/s.
  constexpr int ranks = 4224, half = ranks / 2, times = 9;
  RepeatedStep step{.times = times, .block = ranks, .turn = 1};
  for (Rank r = 0; r < ranks; ++r) step.first.copy({.from = r, .to = (r + half) % ranks, .chunk = r});
  Schedule schedule{.name = "swap", .collective = Collective::allgather, .ranks = ranks, .chunks = ranks};
  schedule.channels = {repeated_steps(ranks, ranks, {step})};
  const AnyRun c = ring_of(FatTree{.leaves = 2, .nodes_per_leaf = half, .spines = 1, .host_link = link_100g, .fabric_link = link_100g},
                           Bytes{ranks * 40'000});
  const auto fabric = build(c.fabric);
  const SimTime exact = times * (2_us + Bytes{half * 40'000} / 100_Gbps);
  const Ended plain = ended(c, *fabric, schedule, By::whatever_suits);
  CHECK(was_walked(plain));
  CHECK(plain.run.finish == exact);
  const Ended events = ended(c, *fabric, schedule, By::events);
  CHECK(events.run.finish >= exact);
  CHECK(events.run.finish.seconds() < exact.seconds() * (1 + 1e-4 * ranks / 16384));
}

TEST_CASE("uncontended: messages that share a link go through events") {
  AnyRun c = ring_of(FatTree{.leaves = 4, .nodes_per_leaf = 4, .spines = 1, .host_link = link_100g, .fabric_link = link_100g}, 1_MiB);
  std::swap(c.placement[1], c.placement[6]);
  std::swap(c.placement[2], c.placement[9]);
  const auto fabric = build(c.fabric);
  const Schedule schedule = build(c.request);
  const Ended plain = ended(c, *fabric, schedule, By::whatever_suits);
  CHECK(plain.run.events > 0);
  check_same(plain, ended(c, *fabric, schedule, By::events));
}
