#include "sim/packet/packet_network.hpp"

#include "models/fabric/fabric_test.hpp"
#include "models/fabric/fat_tree.hpp"
#include "models/fabric/graph_fabric.hpp"
#include "models/fabric/routes.hpp"
#include "models/fabric/star.hpp"
#include "sim/packet/testing.hpp"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;
using test::Wires;
using weft::test::link_100g;

namespace {

PacketSettings rdma() { return {.packet = 1_KB, .ecn = {.on = false}, .transport = PacketTransport::rdma}; }

// a - x - y - b, 100 Gb/s, 500 ns a cable, but for the one between the switches.
std::unique_ptr<Fabric> line(BitsPerSecond between) {
  return build(GraphFabric{.nodes = {"a", "b"},
                           .switches = {"x", "y"},
                           .links = {{"a", "x", 100_Gbps, 500_ns}, {"x", "y", between, 500_ns}, {"y", "b", 100_Gbps, 500_ns}}});
}

}  // namespace

TEST_CASE("packet: one message takes a packet's time a hop when stored and forwarded, its headers' when cut through") {
  // 10 packets of 1000 B at 80 ps a byte: 80 ns each. Three links of 500 ns.
  const auto fabric = line(100_Gbps);
  PacketSettings s = rdma();
  s.switching = Switching::store_and_forward;
  Wires stored(*fabric, s);
  stored.send(0, 1, 10_KB);
  CHECK(stored.run() == std::vector{1'500_ns + 12 * 80_ns});
  s.switching = Switching::cut_through;  // 64 bytes at two switches
  Wires cut(*fabric, s);
  cut.send(0, 1, 10_KB);
  CHECK(cut.run() == std::vector{1'500_ns + 10 * 80_ns + 2 * 64 * 80_ps});
}

TEST_CASE("packet: cut-through does not run dry on a faster link") {
  // 400 Gb/s in between sends 1000 B in 20 ns: it starts 60 ns after the packet does. Then 64 bytes, at 20 ps each.
  const auto fabric = line(400_Gbps);
  Wires wires(*fabric, rdma());
  wires.send(0, 1, 1_KB);
  CHECK(wires.run() == std::vector{1'500_ns + 60_ns + 64 * 20_ps + 80_ns});
}

TEST_CASE("packet: the events of an uncongested message are one a hop") {
  const auto fabric = line(100_Gbps);
  Wires wires(*fabric, rdma());
  wires.send(0, 1, 1_MB);
  wires.run();
  CHECK(wires.network.packet_hops() == 3'000);
  CHECK(wires.network.events() <= 3'003);
}

TEST_CASE("packet: a message of no bytes takes the latency and a byte") {
  const auto fabric = line(100_Gbps);
  PacketSettings s = rdma();
  s.switching = Switching::store_and_forward;
  Wires wires(*fabric, s);
  wires.send(0, 1, 0_B);
  CHECK(wires.run() == std::vector{1'500_ns + 3 * 80_ps});
}

TEST_CASE("packet: incast of n senders queues what n - 1 of them send") {
  // All start at once: while a sender's 100 packets arrive, n leave for each that goes on; the queue ends as n - 1 messages.
  for (const int n : {2, 3, 8}) {
    CAPTURE(n);
    const auto star = build(Star{.nodes = n + 1, .host_link = link_100g});
    Wires wires(*star, rdma());
    for (int from = 0; from < n; ++from) wires.send(from, n, 100_KB);
    const auto ends = wires.run();
    CHECK(*std::ranges::max_element(ends) == 1'000_ns + 64 * 80_ps + 100 * n * 80_ns);
    // At one date a packet may join before another leaves.
    const std::int64_t most = wires.high_water(n).count;
    CHECK(most >= 100'000 * (n - 1));
    CHECK(most <= 100'000 * (n - 1) + 1'000);
  }
}

TEST_CASE("packet: incast under pauses takes no longer, and queues a threshold and a round trip of each sender") {
  // All n inputs fill alike, pass xoff together, and go on for a round trip of the pause: 1 us, 12.5 kB. The cable never
  // idles, so the end is that without pauses.
  for (const int n : {2, 4, 8}) {
    CAPTURE(n);
    const auto star = build(Star{.nodes = n + 1, .host_link = link_100g});
    PacketSettings s = rdma();
    s.pfc = {.xoff = 40_KB, .xon = 36_KB};
    Wires wires(*star, s);
    for (int from = 0; from < n; ++from) wires.send(from, n, 400_KB);
    const auto ends = wires.run();
    CHECK(*std::ranges::max_element(ends) == 1'000_ns + 64 * 80_ps + 400 * n * 80_ns);
    CHECK(wires.network.report().pauses >= n);
    CHECK(wires.high_water(n) > n * 40_KB);
    CHECK(wires.high_water(n) <= n * (40_KB + 12'500_B + 2_KB));
  }
}

TEST_CASE("packet: two messages share a cable in halves until the shorter has ended") {
  // Packets of 1000 B and 250 B of headers take 100 ns. They take turns on leaf0->spine0: the short one's last of 100 is the
  // 199th there, the long one's last of 300 the 400th. Then 4 cables of 500 ns and 3 switches that wait for 64 B.
  const auto tree = build(FatTree{.leaves = 2, .nodes_per_leaf = 2, .spines = 1, .host_link = link_100g, .fabric_link = link_100g});
  PacketSettings s = rdma();
  s.header = 250_B;
  Wires wires(*tree, s);
  wires.send(0, 2, 100_KB);
  wires.send(1, 3, 300_KB);
  const SimTime rest = 2'000_ns + 3 * 64 * 80_ps;
  CHECK(wires.run() == std::vector{rest + 199 * 100_ns, rest + 400 * 100_ns});
  // 200 have come when 100 have left; from then on one comes and one leaves, until the long one has ended.
  for (const QueueReport& q : wires.network.report().queues) {
    CHECK(wires.fabric.link_name(q.link) == "leaf0->spine0");
    CHECK(q.high_water >= 100 * 1'250_B);
    CHECK(q.high_water <= 101 * 1'250_B);
  }
  CHECK(wires.network.report().queues.size() == 1);
}
