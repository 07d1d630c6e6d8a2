#include "models/fabric/routes.hpp"

#include "models/fabric/fabric_spec.hpp"
#include "models/fabric/fabric_test.hpp"

#include <map>
#include <set>

#include <doctest/doctest.h>

namespace weft {
using test::link_100g;

namespace {

// The most and the fewest flows on a directed link between switches when every endpoint sends to the one `shift` further on.
std::pair<int, int> load_of_shift(const Fabric& fabric, Routes& routes, int shift) {
  std::vector<int> flows(static_cast<std::size_t>(fabric.links()));
  for (int e = 0; e < fabric.endpoints(); ++e)
    for (const Hop& hop : routes.hops(routes.of(e, (e + shift) % fabric.endpoints()))) ++flows[static_cast<std::size_t>(hop.link)];
  std::pair<int, int> most_fewest{0, fabric.endpoints()};
  for (LinkId id = 0; id < fabric.links(); ++id)
    if (const int count = flows[static_cast<std::size_t>(id)]; fabric.between_switches(id))
      most_fewest = {std::max(most_fewest.first, count), std::min(most_fewest.second, count)};
  return most_fewest;
}

FatTree with_400g_spines(int leaves, int nodes, int spines) {
  return {.leaves = leaves, .nodes_per_leaf = nodes, .spines = spines, .host_link = link_100g, .fabric_link = {400_Gbps, 2_us}};
}

}  // namespace

TEST_CASE("routes: numbered in the order of first use, and kept") {
  const auto net = build(with_400g_spines(4, 4, 4));
  Routes routes(*net, {});
  CHECK(routes.of(0, 5) == 0);
  CHECK(routes.of(5, 0) == 1);
  CHECK(routes.of(0, 5) == 0);
  CHECK(routes.of(0, 1) == 2);
  CHECK(routes.size() == 3);
  CHECK(routes.hops(0).size() == 4);
  CHECK(routes.hops(2).size() == 2);
}

TEST_CASE("routes: latency is the sum over the path, bandwidth the least on it") {
  const auto net = build(with_400g_spines(4, 4, 4));
  Routes routes(*net, {});
  const RouteId across = routes.of(0, 5), inside = routes.of(0, 1);
  CHECK(routes.latency(across) == 2 * 500_ns + 2 * 2_us);
  CHECK(routes.bandwidth(across) == 100_Gbps);
  CHECK(routes.latency(inside) == 1_us);
}

TEST_CASE("routes: every pair of a thousand endpoints gets its own route, and the table finds it again") {
  const auto net = build(BiGraph{.switches = 32, .nodes_per_switch = 16, .host_link = link_100g, .fabric_link = link_100g});
  Routes routes(*net, {});
  std::vector<std::pair<int, int>> pairs;
  for (int a = 0; a < net->endpoints(); ++a)
    for (int b = a % 3; b < net->endpoints(); b += 3)
      if (a != b) pairs.emplace_back(a, b);
  for (std::size_t i = 0; i < pairs.size(); ++i) REQUIRE(routes.of(pairs[i].first, pairs[i].second) == static_cast<RouteId>(i));
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    REQUIRE(routes.of(pairs[i].first, pairs[i].second) == static_cast<RouteId>(i));
    REQUIRE(net->from(routes.hops(static_cast<RouteId>(i)).front().link) == net->node_of(pairs[i].first));
    REQUIRE(net->to(routes.hops(static_cast<RouteId>(i)).back().link) == net->node_of(pairs[i].second));
  }
}

TEST_CASE("routes: the hash is the same on every machine") {
  // Computed apart from this code, from the definition of SplitMix64's finaliser.
  CHECK(hash_of(1, 0, 1) == 0x46b73e79f0c37c00);
  CHECK(hash_of(1, 1, 0) == 0x70692d735bdb37f2);
  CHECK(hash_of(2, 0, 1) == 0xee2751b92135351c);
}

TEST_CASE("routes: the hash spreads pairs evenly, and another seed spreads them otherwise") {
  const auto net = build(with_400g_spines(16, 16, 8));
  Routes first(*net, {EcmpPolicy::hash, 1}), second(*net, {EcmpPolicy::hash, 2}), again(*net, {EcmpPolicy::hash, 1});
  std::map<LinkId, int> uses;
  int differ = 0, pairs = 0;
  for (int a = 0; a < 16; ++a)
    for (int b = 16; b < 256; ++b, ++pairs) {
      const LinkId up = first.hops(first.of(a, b))[1].link;
      ++uses[up];
      REQUIRE(again.hops(again.of(a, b))[1].link == up);
      differ += second.hops(second.of(a, b))[1].link != up;
    }
  CHECK(uses.size() == 8);
  for (const auto& [link, count] : uses) {  // 480 expected; five standard deviations of a binomial are 102
    CHECK(count > 378);
    CHECK(count < 582);
  }
  CHECK(differ > pairs * 3 / 4);  // 7/8 expected
}

TEST_CASE("routes: d_mod_k puts no two flows of a shift on one link of a balanced fat-tree, and uses them all") {
  for (const FatTree& spec : {with_400g_spines(8, 4, 4), FatTree{.k = 4, .host_link = link_100g, .fabric_link = link_100g},
                              FatTree{.k = 6, .host_link = link_100g, .fabric_link = link_100g}}) {
    const auto net = build(spec);
    Routes routes(*net, {EcmpPolicy::d_mod_k, 0});
    for (int shift = 1; shift < net->endpoints(); ++shift) {
      CAPTURE(shift);
      CHECK(load_of_shift(*net, routes, shift).first <= 1);
    }
    CHECK(load_of_shift(*net, routes, net->endpoints() / 2) == std::pair{1, 1});  // all cross every tier
  }
}

TEST_CASE("routes: the hash collides where d_mod_k does not") {
  const auto net = build(with_400g_spines(8, 4, 4));
  Routes routes(*net, {EcmpPolicy::hash, 1});
  CHECK(load_of_shift(*net, routes, 4).first > 1);
}

TEST_CASE("routes: least_loaded gives the flows of a step links of their own while there are any") {
  const auto net = build(with_400g_spines(8, 4, 4));
  Routes routes(*net, {EcmpPolicy::least_loaded, 0});
  routes.begin_step();
  CHECK(load_of_shift(*net, routes, 4) == std::pair{1, 1});
  // Twice as many nodes as spines: two flows on every link.
  const auto narrow = build(with_400g_spines(8, 8, 4));
  Routes shared(*narrow, {EcmpPolicy::least_loaded, 0});
  shared.begin_step();
  CHECK(load_of_shift(*narrow, shared, 8) == std::pair{2, 2});
}

TEST_CASE("routes: least_loaded counts a pair that has its route, and forgets at the next step") {
  const auto net = build(with_400g_spines(2, 2, 2));
  Routes routes(*net, {EcmpPolicy::least_loaded, 0});
  const auto spine = [&](int from, int to) { return net->to(routes.hops(routes.of(from, to))[1].link); };
  const NodeId first = spine(0, 2);
  routes.begin_step();
  CHECK(spine(0, 2) == first);  // kept, and counted
  CHECK(spine(1, 3) != first);
  routes.begin_step();
  CHECK(spine(1, 2) == first);  // nothing is loaded: the first choice
}

TEST_CASE("routes: of paths with as few flows, least_loaded takes the one with fewest routes of other schedules") {
  const auto net = build(with_400g_spines(2, 8, 8));
  Routes routes(*net, {EcmpPolicy::least_loaded, 0});
  std::set<NodeId> spines;
  for (int i = 0; i < 8; ++i) {  // eight who send at the same time, each to a node of the other leaf: a spine for each
    routes.begin_schedule();
    spines.insert(net->to(routes.hops(routes.of(i, 8 + i))[1].link));
  }
  CHECK(spines.size() == 8);
  // A ninth shares a spine with one of them; the flows of one step still come first, its second flow has another.
  routes.begin_schedule();
  const NodeId ninth = net->to(routes.hops(routes.of(0, 9))[1].link), tenth = net->to(routes.hops(routes.of(1, 10))[1].link);
  CHECK(ninth != tenth);
}

}  // namespace weft
