#include "models/fabric/star.hpp"

#include "models/fabric/fabric_test.hpp"

#include <doctest/doctest.h>

namespace weft {

TEST_CASE("star: every pair has one path over the one switch") {
  const auto net = build(Star{.nodes = 5, .host_link = test::link_100g});
  CHECK(net->endpoints() == 5);
  CHECK(test::switches_of(*net) == 1);
  CHECK(net->links() == 10);
  CHECK(test::drawn(*net, "node3", "node0") == "node3 switch node0");
  CHECK(test::wrong_path(*net) == "");
}

TEST_CASE("star: a thousand million nodes are refused, and so is none") {
  CHECK_THROWS_WITH_AS(build(Star{.nodes = 1'000'000'000, .host_link = test::link_100g}),
                       "star: nodes must be between 1 and 1000000, got 1000000000", InputError);
  CHECK_THROWS_WITH_AS(build(Star{.nodes = 0, .host_link = test::link_100g}), "star: nodes must be between 1 and 1000000, got 0",
                       InputError);
  CHECK(problems(Star{.nodes = 1}) == std::vector<Problem>{{"/host_link/bandwidth", "must be more than 0, got 0bps"}});
}

}  // namespace weft
