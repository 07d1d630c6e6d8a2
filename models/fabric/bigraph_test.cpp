#include "models/fabric/bigraph.hpp"

#include "models/fabric/fabric_test.hpp"

#include <doctest/doctest.h>

namespace weft {
using test::drawn;
using test::link_100g;

namespace {
BiGraph bigraph(int switches, int nodes_per_switch) {
  return {.switches = switches, .nodes_per_switch = nodes_per_switch, .host_link = link_100g, .fabric_link = link_100g};
}
}  // namespace

TEST_CASE("bigraph: N switches of M nodes have N M endpoints and N^2 / 4 cables between switches") {
  for (const auto& size : {std::pair{2, 1}, {4, 2}, {8, 3}, {16, 4}}) {
    const int n = size.first, m = size.second;
    CAPTURE(n);
    const auto net = build(bigraph(n, m));
    CHECK(net->endpoints() == n * m);
    CHECK(test::switches_of(*net) == n);
    CHECK(net->links() == 2 * (n * m + n * n / 4));
    CHECK(net->priorities() == 2);
  }
}

TEST_CASE("bigraph: nodes are numbered switch by switch, upper and lower ones in turn") {
  const auto net = build(bigraph(8, 3));
  CHECK(net->device(net->node_of(0)).name == "upper0/node0");
  CHECK(net->device(net->node_of(5)).name == "lower0/node2");
  CHECK(net->device(net->node_of(6)).name == "upper1/node0");
  CHECK(net->device(net->node_of(23)).name == "lower3/node2");
}

TEST_CASE("bigraph: the path between parts is unique, within a part it turns on any of N / 2 switches") {
  const auto net = build(bigraph(8, 2));
  CHECK(drawn(*net, "upper1/node0", "lower3/node1") == "upper1/node0 upper1 lower3 lower3/node1");
  CHECK(drawn(*net, "lower3/node1", "upper1/node0") == "lower3/node1 lower3 upper1 upper1/node0");
  CHECK(drawn(*net, "upper1/node0", "upper1/node1") == "upper1/node0 upper1 upper1/node1");
  CHECK(drawn(*net, "upper1/node0", "upper2/node0", 3) == "upper1/node0 upper1 lower3 upper2 upper2/node0");
  CHECK(drawn(*net, "lower0/node0", "lower3/node0", 2) == "lower0/node0 lower0 upper2 lower3 lower3/node0");
  CHECK(net->path_count(0, 1) == 1);   // one switch
  CHECK(net->path_count(0, 2) == 1);   // upper0 to lower0
  CHECK(net->path_count(0, 4) == 4);   // upper0 to upper1
  CHECK(net->path_count(0, 15) == 1);  // upper0 to lower3
  CHECK(test::wrong_path(*net) == "");
}

TEST_CASE("bigraph: path lengths are 2 hops on a switch, 3 between parts, 4 within a part") {
  // From each of the N M nodes: M - 1 on its switch, (N / 2) M across, (N / 2 - 1) M on the other switches of its part.
  const auto net = build(bigraph(8, 3));
  CHECK(test::pairs_by_hops(*net) == std::map<std::size_t, int>{{2, 24 * 2}, {3, 24 * 4 * 3}, {4, 24 * 3 * 3}});
}

TEST_CASE("bigraph: one priority per direction, by the part that a path starts in") {
  const auto net = build(bigraph(4, 1));
  for (const Hop& hop : test::path_of(*net, 0, 2, 0)) CHECK(hop.priority == 0);
  for (const Hop& hop : test::path_of(*net, 1, 3, 0)) CHECK(hop.priority == 1);
  BiGraph unsafe = bigraph(4, 1);
  unsafe.priorities = 1;
  const auto plain = build(unsafe);
  CHECK(plain->priorities() == 1);
  CHECK(test::wrong_path(*plain) == "");
}

TEST_CASE("bigraph: what cannot be built is refused with every reason") {
  CHECK_THROWS_WITH_AS(build(bigraph(8, 6)), "bigraph: nodes_per_switch must be at most switches / 2 = 4 for a balanced BiGraph, got 6",
                       InputError);
  CHECK(problems(bigraph(8, 4)).empty());
  CHECK(problems(bigraph(7, 2)) == std::vector<Problem>{{"/switches", "must be even and at least 2, got 7"}});
  CHECK(problems(bigraph(0, -1)) ==
        std::vector<Problem>{{"/switches", "must be even and at least 2, got 0"}, {"/nodes_per_switch", "must be at least 1, got -1"}});
  CHECK(problems(bigraph(100'000, 1)) == std::vector<Problem>{{"", "has 2500000000 cables between switches, at most 4000000 are allowed"}});
  CHECK(problems(bigraph(2'000'000'000, 1'000'000'000)).size() == 2);
  BiGraph odd = bigraph(8, 4);
  odd.priorities = 3;
  odd.host_link = {0_Gbps, 1_us};
  odd.fabric_link = {100_Gbps, 0_us - 1_us};
  CHECK(problems(odd) == std::vector<Problem>{{"/priorities", "must be between 1 and 2, got 3"},
                                              {"/host_link/bandwidth", "must be more than 0, got 0bps"},
                                              {"/fabric_link/latency", "must not be negative, got -1us"}});
}

}  // namespace weft
