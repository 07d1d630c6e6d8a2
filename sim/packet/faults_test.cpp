#include "models/fabric/fabric_test.hpp"
#include "models/fabric/fat_tree.hpp"
#include "models/fabric/star.hpp"
#include "sim/packet/testing.hpp"

#include <random>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;
using test::Wires;
using weft::test::link_100g;

namespace {

constexpr PacketTransport transports[] = {PacketTransport::rdma, PacketTransport::dcqcn, PacketTransport::dctcp,
                                          PacketTransport::fixed_window};

struct Drawn {
  PacketSettings settings;
  std::vector<SimTime> ends;
  PacketReport report;
};

// Messages between random endpoints of a fat-tree that loses, corrupts, drops or pauses, as the seed says.
Drawn any_run(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<int>(random() % n); };
  Drawn drawn;
  PacketSettings& s = drawn.settings;
  s.transport = transports[below(4)];
  s.packet = Bytes{256 << below(5)};
  s.switching = below(2) ? Switching::cut_through : Switching::store_and_forward;
  s.pfc.on = below(2) == 0;
  s.pfc.xoff = 16_KiB, s.pfc.xon = 12_KiB;
  s.switch_buffer = below(2) ? 64_KiB : 1_MiB;
  s.acknowledgement = below(3) ? 64_B : 0_B;
  s.acknowledge_every = 1 + below(4);
  s.faults.loss = below(2) * 0.002 * below(5);
  s.faults.corruption = below(2) * 0.002 * below(5);
  if (below(3) == 0) s.faults.failures.push_back({"leaf0->spine1", SimTime{below(50) * 1'000'000}, 200_us});
  s.timeout = 100_us;
  s.retries = 12;
  s.seed = seed;
  const auto fabric = build(FatTree{.leaves = 3, .nodes_per_leaf = 3, .spines = 2, .host_link = link_100g, .fabric_link = link_100g});
  Wires wires(*fabric, s);
  for (int i = 0; i < 30; ++i) {
    const int from = below(9), to = (from + 1 + below(8)) % 9;
    wires.send(from, to, Bytes{below(3) ? below(100'000) : below(3)}, SimTime{below(100) * 1'000'000});
  }
  drawn.ends = wires.run();
  drawn.report = wires.network.report();
  CHECK(wires.network.in_flight() == 0);
  return drawn;
}

}  // namespace

TEST_CASE("packet: whatever is lost, corrupted, dropped or paused, every message ends once, and the same run gives the same result") {
  std::int64_t lost = 0, corrupted = 0, dropped = 0, pauses = 0, timeouts = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    CAPTURE(seed);
    const Drawn drawn = any_run(seed);
    for (std::size_t i = 0; i < drawn.ends.size(); ++i) {
      CAPTURE(i);
      CHECK(drawn.ends[i] != SimTime::never());
    }
    lost += drawn.report.lost, corrupted += drawn.report.corrupted, dropped += drawn.report.dropped;
    pauses += drawn.report.pauses, timeouts += drawn.report.timeouts;
    if (seed % 10 == 0) CHECK(any_run(seed).ends == drawn.ends);
  }
  CHECK(lost > 100);
  CHECK(corrupted > 100);
  CHECK(dropped > 100);
  CHECK(pauses > 100);
  CHECK(timeouts > 10);
}

TEST_CASE("packet: the share lost is the probability") {
  const auto star = build(Star{.nodes = 2, .host_link = link_100g});
  PacketSettings s{.packet = 1_KB, .transport = PacketTransport::fixed_window};
  s.faults.loss = 0.01;
  Wires wires(*star, s);
  wires.send(0, 1, 20_MB);
  wires.run();
  const PacketReport r = wires.network.report();
  CHECK(static_cast<double>(r.lost) / static_cast<double>(r.packet_hops) == doctest::Approx(0.01).epsilon(0.1));
}

TEST_CASE("packet: a message goes on when its link has recovered") {
  const auto star = build(Star{.nodes = 2, .host_link = link_100g});
  PacketSettings s{.packet = 1_KB, .transport = PacketTransport::rdma};
  s.faults.failures = {{"switch->node1", 10_us, 300_us}};
  Wires wires(*star, s);
  wires.send(0, 1, 1_MB);
  const auto ends = wires.run();
  CHECK(ends[0] > 300_us);
  CHECK(ends[0] < 4_ms);
  CHECK(wires.network.report().dropped > 0);
}

TEST_CASE("packet: a link that stays down makes the sender give up, and the error names both ends") {
  const auto star = build(Star{.nodes = 2, .host_link = link_100g});
  PacketSettings s{.packet = 1_KB, .transport = PacketTransport::rdma};
  s.faults.failures = {{"switch->node1", 10_us}};
  s.timeout = 100_us;
  s.retries = 2;
  Wires wires(*star, s);
  wires.send(0, 1, 1_MB);
  // The last answer comes 12.1 us after the start: after 100, 200 and 400 us more nobody waits any longer.
  CHECK_THROWS_WITH_AS(wires.run(), doctest::Contains("node0 gets no answer from node1 after 3 timeouts in a row, at 71"), RunError);
  // What has not been sent is not missed: nothing is pending then, and the queue that waits is named.
  s.faults.failures = {{"node0->switch", 10_us}};
  Wires idle(*star, s);
  idle.send(0, 1, 1_MB);
  CHECK(idle.run() == std::vector{SimTime::never()});
  CHECK(idle.network.stall() == "node0->switch (priority 0) waits: its link is down");
}

TEST_CASE("packet: a link is down until the last of its failures is over, in whatever order they are listed") {
  const auto star = build(Star{.nodes = 2, .host_link = link_100g});
  const auto end = [&](std::vector<LinkFailure> failures) {
    PacketSettings s{.packet = 1_KB, .transport = PacketTransport::rdma};
    s.faults.failures = std::move(failures);
    s.timeout = 100_us;
    Wires wires(*star, s);
    wires.send(0, 1, 1_MB);
    return wires.run()[0];
  };
  const SimTime once = end({{"node0->switch", 20_us, 80_us}});
  CHECK(end({{"node0->switch", 20_us, 60_us}, {"node0->switch", 40_us, 80_us}}) == once);
  CHECK(end({{"node0->switch", 40_us, 80_us}, {"node0->switch", 20_us, 60_us}}) == once);
  CHECK(end({{"node0->switch", 20_us, 80_us}, {"node0->switch", 30_us, 40_us}}) == once);
}

TEST_CASE("packet: a failure of a link that does not exist is refused with all other problems") {
  const auto star = build(Star{.nodes = 2, .host_link = link_100g});
  PacketSettings s;
  s.packet = 0_B;
  s.faults.failures = {{"node0->swich", 10_us}};
  CHECK_THROWS_WITH_AS(Wires(*star, s),
                       "packet: packet must be between 1 B and 64KiB, got 0B\npacket: the fabric has no link \"node0->swich\"", InputError);
}
