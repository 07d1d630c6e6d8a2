#include "models/fabric/fabric_test.hpp"

#include "models/fabric/graph.hpp"

#include <doctest/doctest.h>

namespace weft {

namespace {
struct TwoSwitches : Fabric {
  TwoSwitches() {
    const NodeId a = add_switch("a"), b = add_switch("b");
    add_endpoint_on(a, "a/node0", test::link_100g);
    add_endpoint_on(b, "b/node0", test::link_100g);
    first = add_cable(a, b, test::link_100g);
    second = add_cable(a, b, {BitsPerSecond{1}, 2_us});
  }
  int path_count(int, int) const override { return 0; }
  void append_path(int, int, int, std::vector<Hop>&) const override {}
  LinkId first, second;
};
}  // namespace

TEST_CASE("fabric: links are named by their ends, parallel cables by number") {
  const TwoSwitches net;
  CHECK(net.link_name(net.first) == "a->b");
  CHECK(net.link_name(net.first + 1) == "b->a");
  CHECK(net.link_name(net.second) == "a->b#2");
  CHECK(net.link_name(net.second + 1) == "b->a#2");
  CHECK(net.link_name(0) == "a/node0->a");
  CHECK(net.link_name(1) == "a->a/node0");
}

TEST_CASE("fabric: the graph holds every device and both directions of every cable") {
  const TwoSwitches net;
  CHECK(net.devices() == 4);
  CHECK(boost::num_edges(net.graph()) == 8);
  CHECK(net.links() == 8);
  CHECK(net.endpoints() == 2);
  CHECK(net.device(net.node_of(1)).name == "b/node0");
  CHECK(net.link(net.second).latency == 2_us);
  CHECK(net.link(net.second + 1).bandwidth.count == 1);
  CHECK(net.link(net.first).id == net.first);
  CHECK(net.between_switches(net.first));
  CHECK_FALSE(net.between_switches(0));
  CHECK_FALSE(net.between_switches(1));
}

}  // namespace weft
