#include "sim/packet/packet_network.hpp"

#include "models/graph_fabric.hpp"
#include "models/routes.hpp"
#include "models/star.hpp"
#include "sim/packet/testing.hpp"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;
using test::Wires;

namespace {

constexpr LinkSpec wire{100_Gbps, 500_ns};

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
    const auto star = build(Star{.nodes = n + 1, .host_link = wire});
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
