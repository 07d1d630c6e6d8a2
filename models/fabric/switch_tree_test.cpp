#include "models/fabric/switch_tree.hpp"

#include "models/fabric/fabric_spec.hpp"
#include "models/fabric/fabric_test.hpp"
#include "models/fabric/routes.hpp"
#include "models/server/server_fabric.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace weft {
using test::link_100g;

namespace {

// The links of a way by name, up and down in the order of their names.
std::vector<std::string> names(const Fabric& fabric, const SwitchTree::Way& way) {
  std::vector<std::string> out;
  for (const Hop& hop : way.hops) out.push_back(fabric.link_name(hop.link));
  std::ranges::sort(out);
  return out;
}

using Names = std::vector<std::string>;

FatTree leaf_spine() { return {.leaves = 4, .nodes_per_leaf = 4, .spines = 4, .host_link = link_100g, .fabric_link = {400_Gbps, 2_us}}; }

}  // namespace

TEST_CASE("switch tree: switches below one another add, so that every link of the tree carries one endpoint's data") {
  const auto net = build(leaf_spine());
  const std::vector<int> some = {1, 3, 4, 5, 8};
  const SwitchTree tree = switch_tree(*net, some, 2);
  CHECK(names(*net, tree.ways.at(1)) == Names{"leaf0->leaf0/node1", "leaf0/node1->leaf0"});
  CHECK(names(*net, tree.ways.at(3)) == Names{"leaf0->leaf0/node3", "leaf0/node3->leaf0"});
  // The first of another leaf takes that leaf's sum on, by spine 2; the other one's is added in the leaf, and a third leaf's in the spine.
  CHECK(names(*net, tree.ways.at(4)) ==
        Names{"leaf0->spine2", "leaf1->leaf1/node0", "leaf1->spine2", "leaf1/node0->leaf1", "spine2->leaf0", "spine2->leaf1"});
  CHECK(names(*net, tree.ways.at(5)) == Names{"leaf1->leaf1/node1", "leaf1/node1->leaf1"});
  CHECK(names(*net, tree.ways.at(8)) == Names{"leaf2->leaf2/node0", "leaf2->spine2", "leaf2/node0->leaf2", "spine2->leaf2"});
  // All the same, what is added in the leaf goes on to the root.
  CHECK(tree.ways.at(1).up == 500_ns);
  for (const int e : {4, 5, 8}) {
    CHECK(tree.ways.at(e).up == 500_ns + 2 * 2_us);
    CHECK(tree.ways.at(e).down == 500_ns + 2 * 2_us);
  }
  for (const int e : some) CHECK(tree.ways.at(e).path_class == PathClass::network);
}

TEST_CASE("switch tree: trees of other numbers go through other spines, and none has a link twice") {
  const auto net = build(leaf_spine());
  const std::vector<int> all = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  std::vector<int> used(static_cast<std::size_t>(net->links()));
  for (int number = 0; number < 4; ++number) {
    std::vector<int> of_tree(used.size());
    for (const auto& [endpoint, way] : switch_tree(*net, all, number).ways)
      for (const Hop& hop : way.hops) ++of_tree[static_cast<std::size_t>(hop.link)], ++used[static_cast<std::size_t>(hop.link)];
    CHECK(*std::ranges::max_element(of_tree) == 1);
  }
  for (LinkId link = 0; link < net->links(); ++link) CHECK(used[static_cast<std::size_t>(link)] == (net->between_switches(link) ? 1 : 4));
}

TEST_CASE("switch tree: on rails a tree of the GPUs by one NIC stays on that NIC's switch") {
  Server server = server_preset("dgx_h100");
  server.wiring = Wiring::rails;
  const auto net = build(FatTree{.leaves = 8, .nodes_per_leaf = 4, .spines = 8, .host_link = link_100g, .fabric_link = link_100g}, server);
  const std::vector<int> heads = {3, 8 + 3, 16 + 3};
  const SwitchTree tree = switch_tree(*net, heads, 3);
  for (const int head : heads) {
    const SwitchTree::Way& way = tree.ways.at(head);
    CHECK(way.path_class == PathClass::rail);
    CHECK(std::ranges::count_if(way.hops, [&](const Hop& hop) { return !net->link(hop.link).in_server; }) == 2);
  }
}

TEST_CASE("switch tree: where no switch lies between two endpoints there is nothing that adds") {
  const auto net =
      build(GraphFabric{.nodes = {"a", "b"}, .switches = {}, .links = {{.from = "a", .to = "b", .bandwidth = 100_Gbps, .latency = 1_us}}});
  const std::vector<int> both = {0, 1};
  CHECK_THROWS_WITH_AS(switch_tree(*net, both, 0), "no switch lies between a and b, which could add what they send", InputError);
}

TEST_CASE("routes: to and from aggregation trees they are the links of both ways, and are there again when routes are fresh") {
  const auto net = build(leaf_spine());
  Routes routes(*net, {});
  const std::vector<int> first = {0, 4}, second = {5, 9};
  CHECK(routes.add_switches(first) == 16);
  CHECK(routes.add_switches(second) == 17);
  CHECK(routes.are_switches(16));
  CHECK_FALSE(routes.are_switches(15));
  const RouteId up = routes.of(9, 17), down = routes.of(17, 9), beside = routes.of(9, 5);
  CHECK(std::ranges::equal(routes.hops(up), routes.hops(down)));
  CHECK(routes.hops(up).size() == 6);
  CHECK(routes.latency(up) == 500_ns + 2 * 2_us);
  CHECK(routes.bandwidth(up) == 100_Gbps);
  CHECK(routes.to_or_from_switches(up));
  CHECK_FALSE(routes.to_or_from_switches(beside));
  Routes fresh = routes.fresh();
  CHECK(fresh.size() == 0);
  CHECK(fresh.hops(fresh.of(4, 16)).size() == 6);
}

}  // namespace weft
