#include "models/fabric/analysis/link_load.hpp"

#include "models/fabric/fabric_spec.hpp"
#include "models/fabric/fabric_test.hpp"

#include <numeric>

#include <doctest/doctest.h>

namespace weft {
using test::leaf_spine;
using test::link_100g;

namespace {

std::vector<int> linear(int ranks) {
  std::vector<int> placement(static_cast<std::size_t>(ranks));
  std::iota(placement.begin(), placement.end(), 0);
  return placement;
}

// Step k: every rank sends to the one shifts[k] further on.
Schedule shifts(int ranks, const std::vector<int>& by_step) {
  Schedule schedule{.ranks = ranks};
  for (const int shift : by_step) {
    Step& step = schedule.add_step();
    for (int r = 0; r < ranks; ++r) step.copy({.from = r, .to = (r + shift) % ranks});
  }
  return schedule;
}

}  // namespace

TEST_CASE("link_load: counts the flows of each step, and names the first busiest link and step") {
  // 2 leaves of 4 nodes and one spine. A shift by 1: one flow leaves each leaf. By 4: all four do.
  const auto net = build(leaf_spine(2, 4, 1));
  Routes routes(*net, {});
  const LinkLoad load = link_load(shifts(8, {1, 4, 4, 2}), linear(8), routes);
  CHECK(load.steps == std::vector<LinkLoad::Step>{{1, 1}, {4, 4}, {4, 4}, {2, 2}});
  CHECK(load.max_flows_per_link() == 4);
  CHECK(net->link_name(load.between_switches.link) == "leaf0->spine0");
  CHECK(load.between_switches.step == 1);
  CHECK(load.any.flows == 4);
}

TEST_CASE("link_load: host links count apart from those between switches") {
  const auto net = build(leaf_spine(4, 2, 2));
  Routes routes(*net, {EcmpPolicy::d_mod_k, 0});
  Schedule incast{.ranks = 8};
  Step& step = incast.add_step();
  for (int r = 1; r < 8; ++r) step.copy({.from = r, .to = 0});
  const LinkLoad load = link_load(incast, linear(8), routes);
  CHECK(load.any == BusiestLink{7, 1, 0});  // leaf0 to node 0
  CHECK(net->link_name(load.any.link) == "leaf0->leaf0/node0");
  CHECK(load.between_switches.flows == 6);
}

TEST_CASE("link_load: local operations cross no link, and a star has none between switches") {
  const auto net = build(Star{.nodes = 3, .host_link = link_100g});
  Routes routes(*net, {});
  Schedule schedule = shifts(3, {0, 1});
  const LinkLoad load = link_load(schedule, linear(3), routes);
  CHECK(load.steps == std::vector<LinkLoad::Step>{{0, 0}, {0, 1}});
  CHECK(load.max_flows_per_link() == 0);
  CHECK(load.between_switches == BusiestLink{});
}

TEST_CASE("link_load: placement decides who meets on a link") {
  const auto net = build(leaf_spine(2, 4, 1));
  Routes routes(*net, {});
  // Ranks alternate between the leaves: a shift by one crosses everywhere.
  const std::vector<int> alternating{0, 4, 1, 5, 2, 6, 3, 7};
  CHECK(link_load(shifts(8, {1}), alternating, routes).max_flows_per_link() == 4);
  CHECK(link_load(shifts(8, {2}), alternating, routes).max_flows_per_link() == 0);
}

TEST_CASE("link_load: equal steps of channels side by side add up") {
  const auto net = build(leaf_spine(2, 4, 1));
  Routes routes(*net, {});
  Schedule schedule = shifts(8, {1, 1});
  schedule.channels.push_back(shifts(8, {4, 4, 4}).channels.front());
  const LinkLoad load = link_load(schedule, linear(8), routes);
  CHECK(load.steps == std::vector<LinkLoad::Step>{{5, 5}, {5, 5}, {4, 4}});
}

TEST_CASE("link_load: ranks on one endpoint put nothing on links") {
  const auto net = build(leaf_spine(2, 1, 1));
  Routes routes(*net, {});
  // Of the ring of three, 0 -> 1 stays on an endpoint; 1 -> 2 and 2 -> 0 cross the spine one each way.
  CHECK(link_load(shifts(3, {1}), std::vector{0, 0, 1}, routes).steps == std::vector<LinkLoad::Step>{{1, 1}});
}

TEST_CASE("link_load: least_loaded spreads the flows of a step") {
  const auto net = build(leaf_spine(4, 4, 4));
  Routes routes(*net, {EcmpPolicy::least_loaded, 0});
  CHECK(link_load(shifts(16, {4, 4}), linear(16), routes).max_flows_per_link() == 1);
}

}  // namespace weft
