#include "models/fabric/torus.hpp"

#include "models/fabric/fabric_test.hpp"

#include <doctest/doctest.h>

namespace weft {
using test::drawn;
using test::link_100g;

namespace {
Torus torus(std::vector<int> dims, int nodes_per_switch = 1) {
  return {.dims = std::move(dims), .nodes_per_switch = nodes_per_switch, .host_link = link_100g, .fabric_link = link_100g};
}
}  // namespace

TEST_CASE("torus: a ring per dimension, two switches sharing one cable") {
  CHECK(build(torus({4, 4}))->links() == 2 * (16 + 32));
  CHECK(build(torus({2, 2, 2}))->links() == 2 * (8 + 12));  // a cube has 12 edges
  CHECK(build(torus({5}))->links() == 2 * (5 + 5));
  CHECK(build(torus({1, 3}))->links() == 2 * (3 + 3));
  CHECK(build(torus({3, 4, 2}, 2))->endpoints() == 48);
}

TEST_CASE("torus: paths correct one dimension after the other, the shorter way round") {
  const auto net = build(torus({5, 4}));
  CHECK(drawn(*net, "switch0.0/node0", "switch2.1/node0") == "switch0.0/node0 switch0.0 switch1.0 switch2.0 switch2.1 switch2.1/node0");
  CHECK(drawn(*net, "switch0.0/node0", "switch4.3/node0") == "switch0.0/node0 switch0.0 switch4.0 switch4.3 switch4.3/node0");
  CHECK(drawn(*net, "switch4.3/node0", "switch0.0/node0") == "switch4.3/node0 switch4.3 switch0.3 switch0.0 switch0.0/node0");
}

TEST_CASE("torus: half way round, both ways are choices") {
  const auto net = build(torus({4, 4}));
  CHECK(net->path_count(0, 1) == 1);
  CHECK(net->path_count(0, 2) == 2);
  CHECK(net->path_count(0, 10) == 4);
  CHECK(drawn(*net, "switch0.0/node0", "switch2.0/node0", 0) == "switch0.0/node0 switch0.0 switch1.0 switch2.0 switch2.0/node0");
  CHECK(drawn(*net, "switch0.0/node0", "switch2.0/node0", 1) == "switch0.0/node0 switch0.0 switch3.0 switch2.0 switch2.0/node0");
}

TEST_CASE("torus: every path is sound, and the lengths are those of the rings") {
  for (const auto& dims : {std::vector{2}, {3}, {4}, {7}, {2, 3}, {4, 4}, {2, 2, 2}, {3, 4, 2}, {1, 5}}) {
    CAPTURE(dims.front());
    CAPTURE(dims.size());
    CHECK(test::wrong_path(*build(torus(dims))) == "");
    CHECK(test::wrong_path(*build(torus(dims, 2))) == "");
  }
  // 4 x 4 from one switch: distances 0 1 1 2 in each dimension, so 4 pairs at 1, 6 at 2, 4 at 3, 1 at 4; two host hops more.
  CHECK(test::pairs_by_hops(*build(torus({4, 4}))) == std::map<std::size_t, int>{{3, 64}, {4, 96}, {5, 64}, {6, 16}});
}

TEST_CASE("torus: a message moves to priority 1 where it closes the ring, and back to 0 in the next dimension") {
  const auto net = build(torus({5, 5}));
  const int from = test::endpoint_named(*net, "switch4.0/node0"), to = test::endpoint_named(*net, "switch1.1/node0");
  std::vector<int> priorities;
  for (const Hop& hop : test::path_of(*net, from, to, 0)) priorities.push_back(hop.priority);
  CHECK(priorities == std::vector{0, 1, 1, 0, 0});  // host, 4->0, 0->1, up in the second dimension, host
}

TEST_CASE("torus: what cannot be built is refused with every reason") {
  CHECK_THROWS_WITH_AS(build(torus({})), "torus: dims must list 1 to 8 dimensions, got 0", InputError);
  CHECK(problems(torus({4, 0, -2})) ==
        std::vector<Problem>{{"/dims/1", "must be at least 1, got 0"}, {"/dims/2", "must be at least 1, got -2"}});
  CHECK(problems(torus({100, 100, 101})) == std::vector<Problem>{{"", "has 1010000 endpoints, at most 1000000 are allowed"}});
  CHECK(problems(torus({2'000'000'000, 2'000'000'000, 2'000'000'000})).size() == 2);
}

}  // namespace weft
