// Runs that cannot end although something always happens: they end all the same, and say why.
#include "collectives/registry/registry.hpp"
#include "models/fabric/fabric_spec.hpp"
#include "models/fabric/fabric_test.hpp"
#include "sim/packet/testing.hpp"
#include "sim/shared_run.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;
using test::Wires;
using weft::test::link_100g;

namespace {

PacketSettings tight() { return {.packet = 1_KB, .ecn = {.on = false}, .pfc = {.xoff = 16_KB, .xon = 8_KB}}; }

// A ring of switches, four nodes each, whose links make a cycle: without a second priority it deadlocks.
FabricSpec ring_of_switches(int priorities) {
  return Torus{.dims = {6}, .nodes_per_switch = 4, .host_link = link_100g, .fabric_link = link_100g, .priorities = priorities};
}

struct Ask {
  FabricSpec fabric;
  std::string algorithm = "direct";
  Collective collective = Collective::alltoall;
  std::vector<int> placement;
  Bytes size = 4_MiB;
  PacketSettings settings = tight();
  HardwareProfile hardware = {};
};

// With traffic between two nodes, from start to end.
SimTime beside_traffic(const Ask& ask, int from, int to) {
  const auto fabric = build(ask.fabric);
  Routes routes(*fabric, {});
  const Schedule schedule =
      build(Request{.collective = ask.collective, .algorithm = ask.algorithm, .ranks = static_cast<int>(ask.placement.size())});
  const Program program = program_of(schedule, ask.size.count / 4 / schedule.chunks * schedule.chunks, 4);
  const Job job{.name = "it",
                .placed = PlacedProgram{.program = program, .placement = ask.placement, .hardware = ask.hardware, .name = "it"}};
  const TrafficSpec endless{.pattern = TrafficPattern::pairs, .pairs = {{from, to}}, .size = 64_KiB};
  return run_on(NetworkKind::packet, {{&job, 1}, {&endless, 1}}, {.routes = routes, .packet = ask.settings}, Around::nothing).finish;
}

// The first two nodes of each switch.
std::vector<int> halves_of_six() { return {0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21}; }

}  // namespace

TEST_CASE("stall: a deadlock is found and named while traffic elsewhere never ends") {
  const Ask unsafe{.fabric = ring_of_switches(1), .placement = halves_of_six()};
  CHECK_THROWS_WITH_AS(beside_traffic(unsafe, 2, 3), doctest::Contains("job it: no progress is possible:\n  rank 0 in step 0"), RunError);
  CHECK_THROWS_WITH_AS(
      beside_traffic(unsafe, 2, 3),
      doctest::Contains(
          "deadlock: each of these queues is paused until the next one drains: switch0->switch5 (priority 0) -> switch5->switch4 "
          "(priority 0) -> switch4->switch3 (priority 0) -> switch3->switch2 (priority 0) -> switch2->switch1 (priority 0) -> "
          "switch1->switch0 (priority 0) -> back to switch0->switch5"),
      RunError);
  // So is one in switches that are so full that they pause before xoff: six links of each with a headroom of 14.5 KB.
  Ask full = unsafe;
  full.settings.switch_buffer = 120_KB;
  full.settings.pfc = {.xoff = 64_KB, .xon = 60_KB};
  CHECK_THROWS_WITH_AS(beside_traffic(full, 2, 3), doctest::Contains("deadlock: each of these queues is paused"), RunError);
  const Ask safe{.fabric = ring_of_switches(2), .placement = halves_of_six()};
  CHECK(beside_traffic(safe, 2, 3) < 5_ms);
}

TEST_CASE("stall: a job whose NIC has failed for good ends the run, though traffic elsewhere does not end") {
  Ask ask{.fabric = Star{.nodes = 6, .host_link = link_100g},
          .algorithm = "chain",
          .collective = Collective::broadcast,
          .placement = {0, 1, 2},
          .size = 1_MiB};
  ask.settings.faults.failures = {{"node0->switch", 0_us}};
  CHECK_THROWS_WITH_AS(beside_traffic(ask, 4, 5),
                       doctest::Contains("rank 1 in step 0 (channel 0) waits for 1 of its transfers, receiving from rank 0"), RunError);
  CHECK_THROWS_WITH_AS(beside_traffic(ask, 4, 5), doctest::Contains("node0->switch (priority 0) waits: its link is down"), RunError);
  // One that recovers is waited for: 400 ms are 2.4 million packet-hops of the traffic, so it was looked at before.
  ask.settings.faults.failures = {{"node0->switch", 0_us, 400_ms}};
  const SimTime finish = beside_traffic(ask, 4, 5);
  CHECK(finish > 400_ms);
  CHECK(finish < 401_ms);
}

TEST_CASE("stall: each rank names those it waits for, also one that has not come as far, and none to which its messages have left") {
  // The last rank of a chain waits for one that is a step behind.
  Ask ask{.fabric = Star{.nodes = 6, .host_link = link_100g},
          .algorithm = "chain",
          .collective = Collective::broadcast,
          .placement = {0, 1, 2},
          .size = 12_KB};
  ask.settings.faults.failures = {{"node0->switch", 0_us}};
  CHECK_THROWS_WITH_AS(beside_traffic(ask, 4, 5),
                       doctest::Contains("no progress is possible:\n"
                                         "  rank 0 in step 0 (channel 0) waits for 1 of its transfers, sending to rank 1\n"
                                         "  rank 1 in step 0 (channel 0) waits for 1 of its transfers, receiving from rank 0\n"
                                         "  rank 2 in step 1 (channel 0) waits for 1 of its transfers, receiving from rank 1\n"),
                       RunError);
  // With rendezvous a sender waits for one behind it as well.
  ask.algorithm = "ring";
  ask.collective = Collective::allgather;
  ask.hardware.rendezvous_threshold = 0_KB;
  CHECK_THROWS_WITH_AS(
      beside_traffic(ask, 4, 5),
      doctest::Contains("no progress is possible:\n"
                        "  rank 0 in step 0 (channel 0) waits for 1 of its transfers, sending to rank 1\n"
                        "  rank 1 in step 0 (channel 0) waits for 1 of its transfers, receiving from rank 0\n"
                        "  rank 2 in step 1 (channel 0) waits for 2 of its transfers, receiving from rank 1, sending to rank 0\n"),
      RunError);
  // What is sent below the threshold has left its sender, though it never arrives.
  ask = {.fabric = ask.fabric, .placement = {0, 1, 2}, .size = 12_KB, .hardware = {.eager_threshold = 1_MB}};
  ask.settings.faults.failures = {{"node0->switch", 0_us}, {"node1->switch", 0_us}};
  CHECK_THROWS_WITH_AS(
      beside_traffic(ask, 4, 5),
      doctest::Contains("no progress is possible:\n"
                        "  rank 0 in step 0 (channel 0) waits for 1 of its transfers, receiving from rank 1\n"
                        "  rank 1 in step 0 (channel 0) waits for 1 of its transfers, receiving from rank 0\n"
                        "  rank 2 in step 0 (channel 0) waits for 2 of its transfers, receiving from rank 1, receiving from rank 0\n"),
      RunError);
}

namespace {

// Messages between random nodes of a ring or a grid of switches with little buffer and one priority.
struct Drawn {
  std::unique_ptr<Fabric> fabric;
  Wires wires;
  Drawn(std::uint64_t seed, std::mt19937_64& random) : fabric(build(shape(seed))), wires(*fabric, settings(random)) {
    const int n = fabric->endpoints();
    for (int i = 0; i < 40; ++i) {
      const int from = below(random, n), to = (from + 1 + below(random, n - 1)) % n;
      wires.send(from, to, Bytes{1 + below(random, 300'000)}, SimTime{below(random, 20) * 1'000'000});
    }
  }
  static int below(std::mt19937_64& random, int n) { return static_cast<int>(random() % static_cast<std::uint64_t>(n)); }
  static FabricSpec shape(std::uint64_t seed) {
    return Torus{.dims = seed % 2 ? std::vector{5} : std::vector{3, 3},
                 .nodes_per_switch = 2,
                 .host_link = link_100g,
                 .fabric_link = {seed % 3 ? 100_Gbps : 50_Gbps, seed % 4 == 1 ? 20_us : 300_ns},
                 .priorities = 1};
  }
  static PacketSettings settings(std::mt19937_64& random) {
    PacketSettings s = tight();
    s.pfc.xoff = Bytes{1'000 << below(random, 5)};
    s.pfc.xon = Bytes{s.pfc.xoff.count * std::min(below(random, 8), 4) / 4};
    constexpr PacketTransport transports[] = {PacketTransport::rdma, PacketTransport::dcqcn, PacketTransport::dctcp,
                                              PacketTransport::fixed_window};
    s.transport = transports[below(random, 4)];
    s.window = 64_KB;
    return s;
  }
};

}  // namespace

TEST_CASE("stall: what is said never to end does not, and of what does not end it is said") {
  int deadlocks = 0, paused_and_well = 0;
  for (std::uint64_t seed = 50; seed < 170; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    Drawn drawn(seed, random);
    Wires& wires = drawn.wires;
    std::vector<char> said(wires.ends.size());
    const auto look = [&] { wires.network.look([&](std::uint32_t token) { said[token] = 1; }); };
    for (int dates = 1; wires.network.next_date() != SimTime::never(); ++dates) {
      wires.network.advance([&](std::uint32_t token) {
        CHECK(!said[token]);
        wires.ends[token] = wires.network.now();
      });
      if (dates % 2 == 0) look();
    }
    look();
    for (std::size_t i = 0; i < said.size(); ++i) {
      CAPTURE(i);
      CHECK((said[i] != 0) == (wires.ends[i] == SimTime::never()));
    }
    const bool deadlock = std::ranges::count(said, 1) > 0;
    CHECK(deadlock == (wires.network.stall().substr(0, 9) == "deadlock:"));
    deadlocks += deadlock;
    paused_and_well += !deadlock && wires.network.report().pauses > 0;
  }
  CHECK(deadlocks > 10);
  CHECK(paused_and_well > 20);
}

TEST_CASE("stall: a deadlock that a failing link will empty is not for ever") {
  // The cycle of pause_test.cpp: what the link between upper0 and lower0 holds gets lost with it.
  const auto fabric =
      build(BiGraph{.switches = 4, .nodes_per_switch = 1, .host_link = link_100g, .fabric_link = link_100g, .priorities = 1});
  PacketSettings s = tight();
  s.timeout = 2_s;
  s.faults.failures = {{"upper0->lower0", 1_s, 1'001_ms}};
  Wires wires(*fabric, s);
  struct Way {
    int from, to, turn;
  };
  for (const Way way : {Way{0, 2, 0}, {1, 3, 1}, {2, 0, 1}, {3, 1, 0}}) {
    std::vector<Hop> hops;
    fabric->append_path(way.from, way.to, way.turn, hops);
    wires.send_over(hops, 5_MB);
  }
  const auto run_until = [&](SimTime date) {
    while (wires.network.next_date() < date) wires.network.advance([&](std::uint32_t token) { wires.ends[token] = wires.network.now(); });
  };
  run_until(1_s);
  const std::int64_t before = wires.network.packet_hops();
  CHECK(before < 2'000);  // of 80,000
  CHECK(wires.network.faults_ahead());
  wires.network.look([](std::uint32_t) { CHECK(false); });
  CHECK(wires.network.stall().find("upper0->lower0 (priority 0) waits: it is paused") != std::string::npos);
  run_until(1'001_ms);
  CHECK(wires.network.packet_hops() > before + 100);
}
