#include "models/fabric/dragonfly.hpp"

#include "models/fabric/fabric_test.hpp"

#include <doctest/doctest.h>

namespace weft {
using test::link_100g;

namespace {
Dragonfly dragonfly(int groups, int routers, int nodes, int global) {
  return {.groups = groups,
          .routers_per_group = routers,
          .nodes_per_router = nodes,
          .global_links_per_router = global,
          .host_link = link_100g,
          .fabric_link = link_100g,
          .global_link = {100_Gbps, 2_us}};
}
}  // namespace

TEST_CASE("dragonfly: complete groups, and the same number of global cables between every two") {
  // The largest with 4 routers of 2 global ports: 9 groups, one cable per pair. 9 * 6 local cables, 36 global ones.
  const auto net = build(dragonfly(9, 4, 2, 2));
  CHECK(net->endpoints() == 72);
  CHECK(test::switches_of(*net) == 36);
  CHECK(net->links() == 2 * (72 + 54 + 36));
  std::map<std::pair<int, int>, int> cables;
  for (LinkId id = 0; id < net->links(); ++id)
    if (net->link(id).latency == 2_us) ++cables[{net->from(id) / 4, net->to(id) / 4}];
  CHECK(cables.size() == 72);
  for (const auto& [pair, count] : cables) CHECK(count == 1);
}

TEST_CASE("dragonfly: no router has more global cables than ports") {
  for (const auto& spec :
       {dragonfly(9, 4, 1, 2), dragonfly(5, 4, 1, 2), dragonfly(4, 3, 1, 2), dragonfly(2, 3, 1, 1), dragonfly(3, 5, 1, 1)}) {
    const auto net = build(spec);
    CAPTURE(spec.groups);
    std::map<NodeId, int> ports;
    for (LinkId id = 0; id < net->links(); ++id)
      if (net->link(id).latency == 2_us) ++ports[net->from(id)];
    for (const auto& [router, count] : ports) CHECK(count <= spec.global_links_per_router);
  }
}

TEST_CASE("dragonfly: minimal paths take one global cable and at most one local hop on each side") {
  for (const auto& spec :
       {dragonfly(9, 4, 1, 2), dragonfly(5, 4, 1, 2), dragonfly(3, 4, 2, 2), dragonfly(2, 3, 1, 1), dragonfly(1, 4, 2, 0)}) {
    const auto net = build(spec);
    CAPTURE(spec.groups);
    CHECK(test::wrong_path(*net) == "");
    for (const auto& [hops, pairs] : test::pairs_by_hops(*net)) CHECK(hops <= 5);
  }
}

TEST_CASE("dragonfly: the local hop after the global cable has priority 1") {
  const auto net = build(dragonfly(3, 4, 1, 1));
  for (int from = 0; from < net->endpoints(); ++from)
    for (int to = 0; to < net->endpoints(); ++to) {
      if (from == to) continue;
      bool global_passed = false;
      for (const Hop& hop : test::path_of(*net, from, to, 0)) {
        if (net->between_switches(hop.link)) REQUIRE(hop.priority == (global_passed ? 1 : 0));
        global_passed = global_passed || net->link(hop.link).latency == 2_us;
      }
    }
}

TEST_CASE("dragonfly: what cannot be built is refused with every reason") {
  CHECK_THROWS_WITH_AS(build(dragonfly(10, 4, 2, 2)),
                       "dragonfly: groups must be at most routers_per_group * global_links_per_router + 1 = 9, got 10", InputError);
  CHECK(problems(dragonfly(0, 0, 0, -1)) == std::vector<Problem>{{"/groups", "must be at least 1, got 0"},
                                                                 {"/routers_per_group", "must be at least 1, got 0"},
                                                                 {"/nodes_per_router", "must be at least 1, got 0"},
                                                                 {"/global_links_per_router", "must be at least 0, got -1"}});
}

}  // namespace weft
