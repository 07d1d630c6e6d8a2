#include "models/fabric/graph_fabric.hpp"

#include "models/fabric/fabric_test.hpp"

#include <doctest/doctest.h>

namespace weft {
using test::drawn;

namespace {
GraphLink cable(std::string from, std::string to) { return {std::move(from), std::move(to), 100_Gbps, 1_us}; }
GraphLink one_way(std::string from, std::string to) { return {std::move(from), std::move(to), 100_Gbps, 1_us, false}; }

// Two nodes, two ways of two hops between their switches.
GraphFabric diamond() {
  return {.nodes = {"p", "q"},
          .switches = {"left", "top", "bottom", "right"},
          .links = {cable("p", "left"), cable("q", "right"), cable("left", "top"), cable("left", "bottom"), cable("top", "right"),
                    cable("bottom", "right")}};
}
}  // namespace

TEST_CASE("graph: all shortest paths are choices, in the order of the links") {
  const auto net = build(diamond());
  CHECK(net->endpoints() == 2);
  CHECK(net->links() == 12);
  CHECK(net->path_count(0, 1) == 2);
  CHECK(drawn(*net, "p", "q", 0) == "p left top right q");
  CHECK(drawn(*net, "p", "q", 1) == "p left bottom right q");
  CHECK(test::wrong_path(*net) == "");
}

TEST_CASE("graph: parallel cables and two host links are choices too") {
  GraphFabric spec = diamond();
  spec.links.push_back(cable("top", "right"));
  CHECK(build(spec)->path_count(0, 1) == 3);
  spec.links.push_back(cable("p", "left"));
  const auto net = build(spec);
  CHECK(net->path_count(0, 1) == 6);
  CHECK(test::wrong_path(*net) == "");
  spec.links.push_back(cable("p", "top"));  // now shorter than by way of left
  CHECK(build(spec)->path_count(0, 1) == 2);
}

TEST_CASE("graph: endpoints do not forward, but may be joined directly") {
  const GraphFabric mesh{.nodes = {"a", "b", "c"}, .links = {cable("a", "b"), cable("b", "c"), cable("c", "a")}};
  CHECK(drawn(*build(mesh), "a", "c") == "a c");
  const GraphFabric chain{.nodes = {"a", "b", "c"}, .links = {cable("a", "b"), cable("b", "c")}};
  CHECK_THROWS_WITH_AS(build(chain), "graph: links leave \"a\" without a path to \"c\" (endpoints do not forward)", InputError);
}

TEST_CASE("graph: at most 64 of the shortest paths are choices") {
  // 5 stages of 3 parallel cables: 243 paths.
  GraphFabric spec{.nodes = {"p", "q"}, .switches = {"s0", "s1", "s2", "s3", "s4", "s5"}, .links = {cable("p", "s0"), cable("q", "s5")}};
  for (int stage = 0; stage < 5; ++stage)
    for (int i = 0; i < 3; ++i) spec.links.push_back(cable(fmt::format("s{}", stage), fmt::format("s{}", stage + 1)));
  const auto net = build(spec);
  CHECK(net->path_count(0, 1) == 64);
  CHECK(test::wrong_path(*net) == "");
}

TEST_CASE("graph: one-way links are followed in their direction only") {
  const GraphFabric ring{
      .nodes = {"a", "b", "c"},
      .switches = {"x", "y", "z"},
      .links = {cable("a", "x"), cable("b", "y"), cable("c", "z"), one_way("x", "y"), one_way("y", "z"), one_way("z", "x")}};
  const auto net = build(ring);
  CHECK(drawn(*net, "a", "c") == "a x y z c");
  CHECK(drawn(*net, "c", "a") == "c z x a");
  GraphFabric broken = ring;
  broken.links.pop_back();
  CHECK_THROWS_WITH_AS(build(broken), "graph: links leave \"b\" without a path to \"a\" (endpoints do not forward)", InputError);
}

TEST_CASE("graph: a disconnected graph names a pair without a path, also on one switch kind") {
  GraphFabric spec = diamond();
  spec.nodes.push_back("lonely");
  CHECK(problems(spec) == std::vector<Problem>{{"/links", "leave \"lonely\" without a path to \"p\" (endpoints do not forward)"}});
  const GraphFabric two_lonely{.nodes = {"a", "b"}};
  CHECK(problems(two_lonely) == std::vector<Problem>{{"/links", "leave \"a\" without a path to \"b\" (endpoints do not forward)"}});
}

TEST_CASE("graph: wrong names and links are refused with every reason") {
  GraphFabric spec{.nodes = {"p", "q", "p", ""}, .switches = {"q"}, .links = {cable("p", "r"), cable("q", "q"), cable("p", "q")}};
  spec.links[2].bandwidth = {};
  CHECK(problems(spec) == std::vector<Problem>{{"/nodes/2", "names \"p\" a second time"},
                                               {"/nodes/3", "must not be empty"},
                                               {"/switches/0", "names \"q\" a second time"},
                                               {"/links/0/to", "must be one of nodes or switches, got \"r\""},
                                               {"/links/1", "must join two devices, got \"q\" twice"},
                                               {"/links/2/bandwidth", "must be more than 0, got 0bps"}});
  CHECK_THROWS_WITH_AS(build(GraphFabric{}), "graph: nodes must name at least one node", InputError);
}

}  // namespace weft
