#include "models/fabric/placement.hpp"

#include "collectives/algorithms/halving_doubling.hpp"
#include "models/fabric/analysis/link_load.hpp"
#include "models/fabric/fabric_test.hpp"

#include <algorithm>
#include <set>

#include <doctest/doctest.h>

namespace weft {
using test::link_100g;

namespace {

BiGraph bigraph_100g(int switches, int nodes) {
  return {.switches = switches, .nodes_per_switch = nodes, .host_link = link_100g, .fabric_link = link_100g};
}
const Star star{.nodes = 10, .host_link = link_100g};

int max_flows(const BiGraph& spec, PlacementPolicy policy, int ranks) {
  const auto net = build(spec);
  Routes routes(*net, {});
  return link_load(halving_doubling_allreduce(ranks), place({.policy = policy}, ranks, spec), routes).max_flows_per_link();
}

}  // namespace

TEST_CASE("placement: linear puts rank r on endpoint r") { CHECK(place({}, 4, star) == std::vector{0, 1, 2, 3}); }

TEST_CASE("placement: random draws without repetition, from all endpoints, by its seed") {
  const Placement first{.policy = PlacementPolicy::random, .seed = 1}, second{.policy = PlacementPolicy::random, .seed = 2};
  const auto nodes = place(first, 10, star);
  CHECK(std::set<int>(nodes.begin(), nodes.end()).size() == 10);
  CHECK(*std::min_element(nodes.begin(), nodes.end()) == 0);
  CHECK(*std::max_element(nodes.begin(), nodes.end()) == 9);
  CHECK(place(first, 10, star) == nodes);
  CHECK(place(second, 10, star) != nodes);
  const auto fewer = place(first, 3, star);
  CHECK(fewer == std::vector(nodes.begin(), nodes.begin() + 3));
}

TEST_CASE("placement: a list is taken as it is, or refused entry by entry") {
  CHECK(place({.policy = PlacementPolicy::list, .nodes = {7, 2, 9}}, 3, star) == std::vector{7, 2, 9});
  CHECK(problems({.policy = PlacementPolicy::list, .nodes = {7, 10, 7, -1}}, 3, star) ==
        std::vector<Problem>{{"/nodes", "must list one endpoint for each of 3 ranks, got 4"},
                             {"/nodes/1", "must be between 0 and 9, got 10"},
                             {"/nodes/2", "puts rank 2 on endpoint 7, where rank 0 is"},
                             {"/nodes/3", "must be between 0 and 9, got -1"}});
  CHECK_THROWS_WITH_AS(place({.policy = PlacementPolicy::list, .nodes = {1, 1}}, 2, star),
                       "placement: nodes/1 puts rank 1 on endpoint 1, where rank 0 is", InputError);
}

TEST_CASE("placement: more ranks than endpoints are refused, and so is none") {
  for (const auto policy : {PlacementPolicy::linear, PlacementPolicy::random})
    CHECK_THROWS_WITH_AS(place({.policy = policy}, 11, star), "placement: must place at most 10 ranks, one on each endpoint, got 11",
                         InputError);
  CHECK_THROWS_WITH_AS(place({}, 0, star), "placement: must place at least 1 rank, got 0", InputError);
}

TEST_CASE("placement: with hdrm every step of halving-doubling has the links between switches to itself") {
  for (int switches = 4; switches <= 32; switches *= 2)
    for (int nodes = 1; nodes <= switches / 2; nodes *= 2) {
      CAPTURE(switches);
      CAPTURE(nodes);
      CHECK(max_flows(bigraph_100g(switches, nodes), PlacementPolicy::hdrm, switches * nodes) == 1);
    }
  CHECK(max_flows(bigraph_100g(16, 4), PlacementPolicy::linear, 64) > 1);
}

TEST_CASE("placement: hdrm of fewer ranks fills a smaller BiGraph, and still has the links to itself") {
  const BiGraph spec = bigraph_100g(16, 4);
  for (int ranks = 1; ranks <= 64; ranks *= 2) {
    CAPTURE(ranks);
    const auto nodes = place({.policy = PlacementPolicy::hdrm}, ranks, spec);
    CHECK(std::set<int>(nodes.begin(), nodes.end()).size() == static_cast<std::size_t>(ranks));
    if (ranks > 1) CHECK(max_flows(spec, PlacementPolicy::hdrm, ranks) == 1);
  }
  // Four ranks: the pairs (0, 1) and (3, 2) on upper and lower switches 0 and 1, which are the first four in turn.
  CHECK(place({.policy = PlacementPolicy::hdrm}, 4, spec) == std::vector{0, 4, 12, 8});
}

TEST_CASE("placement: hdrm is refused off a BiGraph, and for counts that are no powers of two") {
  const Placement hdrm{.policy = PlacementPolicy::hdrm};
  CHECK(problems(hdrm, 8, star) == std::vector<Problem>{{"", "hdrm places ranks on a bigraph, the fabric is a star"}});
  CHECK(problems(hdrm, 12, bigraph_100g(12, 4)) == std::vector<Problem>{{"", "hdrm needs a power of two of switches, the bigraph has 12"},
                                                                        {"", "hdrm places a power of two of ranks, got 12"}});
  CHECK(problems(hdrm, 16, bigraph_100g(8, 3)).empty());  // two nodes of each switch
}

TEST_CASE("placement: round_robin takes the switches in turn, those that are full left out") {
  const LinkSpec wire{100_Gbps, 1_us};
  const FatTree leaves{.leaves = 3, .nodes_per_leaf = 2, .spines = 1, .host_link = wire, .fabric_link = wire};
  const Placement turns{.policy = PlacementPolicy::round_robin};
  CHECK(place(turns, 5, leaves) == std::vector{0, 2, 4, 1, 3});
  CHECK(place(turns, 3, star) == std::vector{0, 1, 2});
  CHECK(place_among(turns, 4, {1, 2, 3, 5}, std::vector{0, 0, 1, 1, 2, 2}) == std::vector{1, 2, 5, 3});
}

}  // namespace weft
