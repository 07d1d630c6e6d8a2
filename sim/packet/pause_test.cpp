#include "models/fabric/bigraph.hpp"
#include "models/fabric/fabric_test.hpp"
#include "models/fabric/graph_fabric.hpp"
#include "models/fabric/star.hpp"
#include "sim/packet/testing.hpp"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;
using test::Wires;
using weft::test::link_100g;

namespace {

PacketSettings lossless() {
  return {.packet = 1_KB, .ecn = {.on = false}, .pfc = {.xoff = 50_KB, .xon = 40_KB}, .transport = PacketTransport::rdma};
}

const QueueReport* of_link(const PacketReport& report, LinkId link) {
  const auto found = std::ranges::find(report.queues, link, &QueueReport::link);
  return found == report.queues.end() ? nullptr : &*found;
}

// Nodes on the switches of one part talk to each other over the switches of the other: each message u -> u + 1 turns on the
// switch that makes the four links between switches a cycle.
std::vector<SimTime> turn_in_circles(const Fabric& fabric, std::string* stall) {
  Wires wires(fabric, lossless());
  struct Way {
    int from, to, turn;
  };
  for (const Way way : {Way{0, 2, 0}, {1, 3, 1}, {2, 0, 1}, {3, 1, 0}}) {
    std::vector<Hop> hops;
    fabric.append_path(way.from, way.to, way.turn, hops);
    wires.send_over(hops, 5_MB);
  }
  auto ends = wires.run();
  if (stall) *stall = wires.network.stall();
  return ends;
}

}  // namespace

TEST_CASE("packet: pauses travel to the senders, and nothing is lost") {
  // Three senders behind x, one receiver behind y, with a tenth of the rate between y and it.
  const auto fabric = build(GraphFabric{.nodes = {"a", "b", "c", "d"},
                                        .switches = {"x", "y"},
                                        .links = {{"a", "x", 100_Gbps, 500_ns},
                                                  {"b", "x", 100_Gbps, 500_ns},
                                                  {"c", "x", 100_Gbps, 500_ns},
                                                  {"x", "y", 100_Gbps, 500_ns},
                                                  {"y", "d", 10_Gbps, 500_ns}}});
  Wires wires(*fabric, lossless());
  for (int from = 0; from < 3; ++from) wires.send(from, 3, 1_MB);
  const auto ends = wires.run();
  const PacketReport r = wires.network.report();
  CHECK(r.dropped == 0);
  CHECK(r.packets == 3'000);
  CHECK(r.packet_hops == 9'000);
  for (const char* link : {"a->x", "b->x", "c->x", "x->y"}) {
    CAPTURE(link);
    const QueueReport* queue = of_link(r, wires.link(link));
    REQUIRE(queue);
    CHECK(queue->pauses > 0);
    CHECK(queue->paused > 100_us);
  }
  // 3 MB at 10 Gb/s, never starved by the pauses.
  CHECK(std::ranges::max_element(ends)->microseconds() == doctest::Approx(2'400).epsilon(0.002));
  // In y: xoff, and what comes in the round trip of a pause: 1 us at 100 Gb/s, 12.5 kB, and two packets.
  const auto y = static_cast<std::size_t>(fabric->to(wires.link("x->y")));
  CHECK(r.switch_high_water[y] <= 50_KB + 12'500_B + 2_KB);
  CHECK(r.switch_high_water[y] > 50_KB);
}

TEST_CASE("packet: the fuller a switch is, the earlier it pauses, so that its buffer is never exceeded") {
  // Four senders may have xoff = 50 KB each, more than the buffer of 160 KB. Five links keep a headroom of 12.5 KB and two packets each.
  const auto star = build(Star{.nodes = 5, .host_link = link_100g});
  PacketSettings s = lossless();
  s.switch_buffer = 160_KB;
  Wires wires(*star, s);
  for (int from = 0; from < 4; ++from) wires.send(from, 4, 1_MB);
  const auto ends = wires.run();
  const PacketReport r = wires.network.report();
  CHECK(r.dropped == 0);
  // What is shared, 160 - 5 x 14.5 KB, and a fifth of it is left free when each of four has as much as is free.
  const Bytes most = std::ranges::max(r.switch_high_water);
  CHECK(most <= 160_KB);
  CHECK(most > 70_KB);
  // The receiver's cable is busy all the time: 4 x 80 us.
  CHECK(std::ranges::max_element(ends)->microseconds() == doctest::Approx(321).epsilon(0.002));
  // What has no room at all, as here for the headroom of five links, is not dropped either.
  s.switch_buffer = 50_KB;
  Wires small(*star, s);
  for (int from = 0; from < 4; ++from) small.send(from, 4, 1_MB);
  const auto slower = small.run();
  CHECK(small.network.report().dropped == 0);
  CHECK(*std::ranges::max_element(slower) < 650_us);
}

TEST_CASE("packet: xoff on one link does not stop another priority or another link") {
  const auto star = build(Star{.nodes = 4, .host_link = link_100g});
  Wires wires(*star, lossless());
  wires.send(0, 3, 1_MB);
  wires.send(1, 3, 1_MB);
  wires.send(2, 0, 1_MB);  // a different way
  const auto ends = wires.run();
  CHECK(ends[2] == 1'000_ns + 80_us + 64 * 80_ps);
  CHECK(of_link(wires.network.report(), 2 * 2) == nullptr);
}

TEST_CASE("packet: a BiGraph of one priority deadlocks when both parts turn, and the cycle is named") {
  const BiGraph shape{.switches = 4, .nodes_per_switch = 1, .host_link = link_100g, .fabric_link = link_100g, .priorities = 1};
  std::string stall;
  const auto ends = turn_in_circles(*build(shape), &stall);
  CHECK(std::ranges::count(ends, SimTime::never()) == 4);
  CHECK(stall ==
        "deadlock: each of these queues is paused until the next one drains: upper0->lower0 (priority 0) -> lower0->upper1 (priority 0) -> "
        "upper1->lower1 (priority 0) -> lower1->upper0 (priority 0) -> back to upper0->lower0");
}

TEST_CASE("packet: with two priorities the same load ends") {
  const BiGraph shape{.switches = 4, .nodes_per_switch = 1, .host_link = link_100g, .fabric_link = link_100g, .priorities = 2};
  std::string stall;
  const auto ends = turn_in_circles(*build(shape), &stall);
  CHECK(std::ranges::count(ends, SimTime::never()) == 0);
  CHECK(stall == "");
  // Each link between switches carries two messages, 10 MB: 800 us.
  CHECK(std::ranges::max_element(ends)->microseconds() == doctest::Approx(800).epsilon(0.1));
}
