#include "models/fabric/analysis/deadlock.hpp"

#include "kernels/base/error.hpp"
#include "models/fabric/fabric_spec.hpp"
#include "models/fabric/fabric_test.hpp"

#include <doctest/doctest.h>

namespace weft {
using test::link_100g;

namespace {

BiGraph bigraph(int switches, int nodes, int priorities) {
  return {.switches = switches, .nodes_per_switch = nodes, .host_link = link_100g, .fabric_link = link_100g, .priorities = priorities};
}
Torus torus(std::vector<int> dims, int priorities) {
  return {.dims = std::move(dims), .host_link = link_100g, .fabric_link = link_100g, .priorities = priorities};
}
Dragonfly dragonfly(int priorities) {
  return {.groups = 5,
          .routers_per_group = 4,
          .nodes_per_router = 2,
          .global_links_per_router = 1,
          .host_link = link_100g,
          .fabric_link = link_100g,
          .global_link = link_100g,
          .priorities = priorities};
}
DeadlockCheck checked(const FabricSpec& spec) { return check_deadlock(*build(spec)); }

}  // namespace

TEST_CASE("deadlock: a BiGraph of one priority can deadlock, with one per direction it cannot") {
  for (const int n : {4, 6, 8, 16}) {
    CAPTURE(n);
    CHECK(checked(bigraph(n, 2, 1)).can_deadlock());
    CHECK_FALSE(checked(bigraph(n, 2, 2)).can_deadlock());
  }
  CHECK_FALSE(checked(bigraph(2, 1, 1)).can_deadlock());  // nothing to turn on
}

TEST_CASE("deadlock: the cycle is named, link by link, and closes") {
  const auto net = build(bigraph(4, 1, 1));
  const DeadlockCheck result = check_deadlock(*net);
  CHECK(describe_cycle(*net, result) ==
        "upper0->lower0 (priority 0) -> lower0->upper1 (priority 0) -> upper1->lower1 (priority 0) -> lower1->upper0 (priority 0) -> "
        "back to upper0->lower0");
  CHECK(describe_cycle(*net, checked(bigraph(4, 1, 2))) == "");
}

TEST_CASE("deadlock: every link of a cycle starts where the one before ends") {
  for (const FabricSpec& spec : {FabricSpec(bigraph(8, 4, 1)), FabricSpec(torus({4, 5}, 1)), FabricSpec(dragonfly(1))}) {
    const auto net = build(spec);
    const auto cycle = check_deadlock(*net).cycle;
    CAPTURE(type_name(spec));
    REQUIRE(!cycle.empty());
    for (std::size_t i = 0; i < cycle.size(); ++i) CHECK(net->to(cycle[i].link) == net->from(cycle[(i + 1) % cycle.size()].link));
  }
}

TEST_CASE("deadlock: fat-trees and stars cannot") {
  CHECK_FALSE(
      checked(FatTree{.leaves = 8, .nodes_per_leaf = 4, .spines = 4, .host_link = link_100g, .fabric_link = link_100g}).can_deadlock());
  CHECK_FALSE(checked(FatTree{.k = 6, .host_link = link_100g, .fabric_link = link_100g}).can_deadlock());
  CHECK_FALSE(checked(Star{.nodes = 9, .host_link = link_100g}).can_deadlock());
}

TEST_CASE("deadlock: a torus needs its datelines from rings of four on") {
  for (const auto& dims : {std::vector{4}, {5}, {8}, {4, 4}, {2, 5}, {3, 4, 2}}) {
    CAPTURE(dims.front());
    CAPTURE(dims.size());
    CHECK(checked(torus(dims, 1)).can_deadlock());
    CHECK_FALSE(checked(torus(dims, 2)).can_deadlock());
  }
  CHECK_FALSE(checked(torus({3, 3}, 1)).can_deadlock());  // one hop a dimension
}

TEST_CASE("deadlock: a dragonfly needs its second priority") {
  CHECK(checked(dragonfly(1)).can_deadlock());
  CHECK_FALSE(checked(dragonfly(2)).can_deadlock());
}

TEST_CASE("deadlock: an explicit ring of one-way links can, a tree cannot") {
  const auto one_way = [](std::string from, std::string to) { return GraphLink{std::move(from), std::move(to), 100_Gbps, 1_us, false}; };
  const auto cable = [](std::string from, std::string to) { return GraphLink{std::move(from), std::move(to), 100_Gbps, 1_us}; };
  GraphFabric ring{.nodes = {"a", "b", "c"}, .switches = {"x", "y", "z"}, .links = {cable("a", "x"), cable("b", "y"), cable("c", "z")}};
  GraphFabric tree = ring;
  for (const auto& [from, to] : {std::pair{"x", "y"}, {"y", "z"}, {"z", "x"}}) ring.links.push_back(one_way(from, to));
  tree.links.push_back(cable("x", "y"));
  tree.links.push_back(cable("y", "z"));
  CHECK(checked(ring).cycle.size() == 3);
  CHECK_FALSE(checked(tree).can_deadlock());
}

TEST_CASE("deadlock: the work is by pairs of switches, not of endpoints") {
  // 8 switches: 8 * 7 pairs; 16 across, both ways, with one path; 12 in a part, both ways, with 4 choices; and the pairs on
  // one switch, one for each of the 8.
  const DeadlockCheck result = checked(bigraph(8, 4, 2));
  CHECK(result.paths == 2 * 16 + 2 * 12 * 4 + 8);
  CHECK(result.channels == 2 * 2 * 16);
  // Turning: from each of 4 switches over each of 4 to each of 3 others, in both parts.
  CHECK(result.dependencies == 2 * 4 * 4 * 3);
}

TEST_CASE("deadlock: a fabric with too many paths to walk is refused") {
  CHECK_THROWS_WITH_AS(checked(torus({101, 100}, 2)),
                       "the deadlock check would walk 102010000 paths or more, at most 100000000 are allowed", InputError);
}

}  // namespace weft
