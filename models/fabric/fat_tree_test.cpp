#include "models/fabric/fat_tree.hpp"

#include "models/fabric/fabric_test.hpp"
#include "models/fabric/graph.hpp"

#include <doctest/doctest.h>

namespace weft {
using test::drawn;
using test::leaf_spine;
using test::link_100g;

namespace {
FatTree three_tiers(int k) { return {.k = k, .host_link = link_100g, .fabric_link = link_100g}; }
}  // namespace

TEST_CASE("fat_tree: two tiers have a cable from every leaf to every spine") {
  const auto net = build(leaf_spine(4, 3, 2));
  CHECK(net->endpoints() == 12);
  CHECK(test::switches_of(*net) == 6);
  CHECK(net->links() == 2 * (12 + 8));
  CHECK(drawn(*net, "leaf1/node2", "leaf3/node0", 1) == "leaf1/node2 leaf1 spine1 leaf3 leaf3/node0");
  CHECK(drawn(*net, "leaf1/node2", "leaf1/node0") == "leaf1/node2 leaf1 leaf1/node0");
  CHECK(net->path_count(0, 3) == 2);
  CHECK(net->path_count(0, 1) == 1);
  CHECK(test::wrong_path(*net) == "");
}

TEST_CASE("fat_tree: k = 4 has 16 hosts, 20 switches and 48 cables") {
  const auto net = build(three_tiers(4));
  CHECK(net->endpoints() == 16);
  CHECK(test::switches_of(*net) == 20);
  CHECK(net->links() == 2 * 48);
  CHECK(test::wrong_path(*net) == "");
}

TEST_CASE("fat_tree: three tiers climb only as far as they must") {
  // k = 4, from one of 16 hosts: 1 on its edge switch, 2 on the other of its pod, 12 in other pods.
  const auto net = build(three_tiers(4));
  CHECK(test::pairs_by_hops(*net) == std::map<std::size_t, int>{{2, 16}, {4, 32}, {6, 192}});
  CHECK(net->path_count(0, 1) == 1);
  CHECK(net->path_count(0, 2) == 2);
  CHECK(net->path_count(0, 4) == 4);
  CHECK(drawn(*net, "pod0/edge0/node0", "pod0/edge1/node1", 1) ==
        "pod0/edge0/node0 pod0/edge0 pod0/aggregation1 pod0/edge1 pod0/edge1/node1");
  CHECK(drawn(*net, "pod0/edge0/node0", "pod3/edge1/node0", 3) ==
        "pod0/edge0/node0 pod0/edge0 pod0/aggregation1 core3 pod3/aggregation1 pod3/edge1 pod3/edge1/node0");
}

TEST_CASE("fat_tree: k ports on every switch") {
  for (const int k : {2, 4, 6, 8}) {
    CAPTURE(k);
    const auto net = build(three_tiers(k));
    CHECK(net->endpoints() == k * k * k / 4);
    CHECK(test::switches_of(*net) == 5 * k * k / 4);
    for (auto [v, end] = boost::vertices(net->graph()); v != end; ++v)
      if (net->graph()[*v].kind == DeviceKind::network_switch) REQUIRE(static_cast<int>(boost::out_degree(*v, net->graph())) == k);
  }
}

TEST_CASE("fat_tree: what cannot be built is refused with every reason") {
  CHECK_THROWS_WITH_AS(build(three_tiers(5)), "fat_tree: k must be even and at least 2, got 5", InputError);
  CHECK_THROWS_WITH_AS(build(three_tiers(-4)), "fat_tree: k must be even and at least 2, got -4", InputError);
  CHECK(problems(three_tiers(160)) == std::vector<Problem>{{"", "has 1024000 endpoints, at most 1000000 are allowed"}});
  CHECK(problems(three_tiers(2'000'000'000)).size() == 2);
  CHECK(problems(leaf_spine(0, 4, -1)) ==
        std::vector<Problem>{{"/leaves", "must be at least 1, got 0"}, {"/spines", "must be at least 1, got -1"}});
  CHECK(problems(FatTree{.host_link = link_100g, .fabric_link = link_100g}) ==
        std::vector<Problem>{{"", "needs k (three tiers), or leaves, nodes_per_leaf and spines (two)"}});
  FatTree both = leaf_spine(4, 4, 4);
  both.k = 4;
  CHECK(problems(both) == std::vector<Problem>{{"/k", "stands instead of leaves, nodes_per_leaf and spines: give one or the other"}});
}

}  // namespace weft
