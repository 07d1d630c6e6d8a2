#include "sim/reference/ns3_network.hpp"

#include "collectives/registry/registry.hpp"
#include "models/fabric/fat_tree.hpp"
#include "models/fabric/star.hpp"
#include "sim/engine/in_child.hpp"
#include "sim/flow/flow_network.hpp"

#include <numeric>

#include <doctest/doctest.h>

using namespace weft;

namespace {

struct Ask {
  std::unique_ptr<Fabric> fabric;
  Schedule schedule;
  std::int64_t bytes = 0;
  HardwareProfile hardware = {};
  std::vector<int> placement = {};

  PlacedSchedule job() {
    placement.resize(static_cast<std::size_t>(schedule.ranks));
    std::iota(placement.begin(), placement.end(), 0);
    return {schedule, placement, bytes, 1, hardware, {}};
  }
};

double by_ns3_us(Ask& ask) {
  return std::stod(in_child([&] {
    Routes routes(*ask.fabric, Ecmp{});
    return fmt::format("{}", run_ns3(ask.job(), *ask.fabric, routes).finish.microseconds());
  }));
}

double by_flow_us(Ask& ask) {
  Routes routes(*ask.fabric, Ecmp{});
  return run_flow_bare(ask.job(), *ask.fabric, routes).finish.microseconds();
}

}  // namespace

TEST_CASE("ns3 network: a message takes the wire's time, TCP's headers and handshake on top") {
  Schedule one{.collective = Collective::broadcast, .ranks = 2};
  one.add_step().copy({.from = 0, .to = 1, .chunk = 0});
  Ask ask{.fabric = build(Star{.nodes = 2, .host_link = {1_Gbps, 10_us}}), .schedule = one, .bytes = 131072};
  // 131072 B at 1 Gb/s: 1048.6 us, two links of 10 us; headers are 58 bytes in 1500 or more.
  const double us = by_ns3_us(ask);
  CHECK(us > 1068.6);
  CHECK(us < 1068.6 * 1.3);
}

TEST_CASE("ns3 network: a ring on a fat-tree takes what flow says, and what TCP adds") {
  Ask ask{
      .fabric = build(FatTree{.leaves = 2, .nodes_per_leaf = 2, .spines = 1, .host_link = {1_Gbps, 1_us}, .fabric_link = {1_Gbps, 1_us}}),
      .schedule = build(Request{.algorithm = "ring", .ranks = 4}),
      .bytes = 4 * 100'000};
  const double flow = by_flow_us(ask), ns3 = by_ns3_us(ask);
  CHECK(ns3 > flow);
  CHECK(ns3 < 1.5 * flow);  // every message is a connection of its own, with a slow start
}

TEST_CASE("ns3 network: what it cannot carry is refused with its place") {
  Ask ask{.fabric = build(Star{.nodes = 300, .host_link = {1_Gbps, 1_us}}),
          .schedule = build(Request{.algorithm = "ring", .ranks = 300}),
          .bytes = 300,
          .hardware = {.rendezvous_threshold = 1_KB}};
  CHECK(ns3_problems(ask.job(), *ask.fabric) ==
        std::vector<Problem>{{"/network", "ns3 is for small runs: at most 256 nodes and switches, got 301"},
                             {"/hardware/rendezvous_threshold", "ns3 has no rendezvous: write \"never\""}});
}
