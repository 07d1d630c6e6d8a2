#include "models/fabric/analysis/faster_links.hpp"

#include "models/fabric/fabric_spec.hpp"
#include "models/fabric/fabric_test.hpp"
#include "models/fabric/simgrid_fabric.hpp"
#include "models/server/server_fabric.hpp"

#include <doctest/doctest.h>

using namespace weft;
using namespace weft::test;

namespace {

LinkId link_of(const Fabric& fabric, const std::string& name) {
  for (LinkId id = 0; id < fabric.links(); ++id)
    if (fabric.link_name(id) == name) return id;
  FAIL("there is no link " << name);
  return -1;
}

std::string alike(const Fabric& fabric, const std::string& name) {
  return describe_alike(fabric, links_like(fabric, link_of(fabric, name)));
}

}  // namespace

TEST_CASE("faster links: the same cluster, but for the rate of what is faster") {
  const Server server = server_preset("two_nic");
  const std::vector<std::shared_ptr<const Fabric>> all = {
      build(BiGraph{.switches = 4, .nodes_per_switch = 2, .host_link = link_100g, .fabric_link = link_100g}),
      build(FatTree{.leaves = 3, .nodes_per_leaf = 2, .spines = 2, .host_link = link_100g, .fabric_link = link_100g}),
      build(Star{.nodes = 3, .host_link = link_100g}),
      build(FabricSpec(Star{.nodes = 3, .host_link = link_100g}), server),
  };
  for (const std::shared_ptr<const Fabric>& fabric : all) {
    const LinkId chosen = fabric->links() - 1;
    const auto faster = with_faster(fabric, {.links = {chosen}}, 2);
    REQUIRE(faster->endpoints() == fabric->endpoints());
    REQUIRE(faster->links() == fabric->links());
    CHECK(faster->priorities() == fabric->priorities());
    for (LinkId id = 0; id < fabric->links(); ++id) {
      CHECK(faster->link_name(id) == fabric->link_name(id));
      CHECK(faster->link(id).bandwidth.count == fabric->link(id).bandwidth.count * (id == chosen ? 2 : 1));
      CHECK(faster->link(id).latency == fabric->link(id).latency);
      CHECK(faster->link(id).in_server == fabric->link(id).in_server);
      CHECK(faster->link(id).two_way.opposite == fabric->link(id).two_way.opposite);
      CHECK(faster->link(id).two_way.rate.count == fabric->link(id).two_way.rate.count * (id == chosen ? 2 : 1));
    }
    for (int from = 0; from < fabric->endpoints(); ++from)
      for (int to = 0; to < fabric->endpoints(); ++to) {
        if (from == to) continue;
        REQUIRE(faster->path_count(from, to) == fabric->path_count(from, to));
        for (int choice = 0; choice < fabric->path_count(from, to); ++choice)
          CHECK(path_of(*faster, from, to, choice) == path_of(*fabric, from, to, choice));
        CHECK(faster->terms(from, to) == fabric->terms(from, to));
      }
  }
}

TEST_CASE("faster links: rate caps of flows, where that is what is faster") {
  Server server = server_preset("single_nic");
  server.root_complex_payload = 64;
  const std::shared_ptr<const Fabric> fabric = build(FabricSpec(Star{.nodes = 2, .host_link = link_100g}), server);
  const auto faster = with_faster(fabric, {.rate_caps = true}, 2);
  int capped = 0;
  for (int to = 1; to < fabric->endpoints(); ++to) {
    capped += fabric->terms(0, to).rate_cap.count > 0 ? 1 : 0;
    CHECK(faster->terms(0, to).rate_cap.count == 2 * fabric->terms(0, to).rate_cap.count);
    CHECK(faster->terms(0, to).weight == fabric->terms(0, to).weight);
  }
  CHECK(capped > 0);
}

TEST_CASE("faster links: what a link caps is faster with the link, and of several caps the least holds") {
  // From GPU 0 over a socket to GPU 4, both on PCIe 3 x16 and so with the same cap on every link of the way: one of them alone changes
  // nothing, all of them double it.
  Server server = server_preset("single_nic");
  server.root_complex_payload = 64;
  const std::shared_ptr<const Fabric> fabric = build(FabricSpec(Star{.nodes = 2, .host_link = link_100g}), server);
  const int other = fabric->endpoints() - 1;
  std::vector<FlowCap> caps;
  fabric->append_caps(0, other, caps);
  REQUIRE(caps.size() > 1);
  CHECK(least_of(caps) == fabric->terms(0, other).rate_cap);
  CHECK(with_faster(fabric, {.links = {caps.front().link}}, 2)->terms(0, other) == fabric->terms(0, other));
  std::vector<LinkId> capping;
  for (const FlowCap& cap : caps) capping.push_back(cap.link);
  CHECK(with_faster(fabric, {.links = capping}, 2)->terms(0, other).rate_cap.count == 2 * fabric->terms(0, other).rate_cap.count);

  // A FATPIPE of a platform is such a cap too.
  const std::shared_ptr<const Fabric> read = build(SimgridFabric{.file = "", .platform = read_platform(R"(<platform version="4.1">
    <zone id="z" routing="Full"><host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
    <link id="wire" bandwidth="10Gbps" latency="1us"/><link id="pipe" bandwidth="4Gbps" latency="1us" sharing_policy="FATPIPE"/>
    <route src="a" dst="b"><link_ctn id="wire"/><link_ctn id="pipe"/></route></zone></platform>)")});
  CHECK(read->terms(0, 1).rate_cap == 4_Gbps);
  CHECK(with_faster(read, {.links = {link_of(*read, "wire")}}, 2)->terms(0, 1).rate_cap == 4_Gbps);
  CHECK(with_faster(read, {.links = {link_of(*read, "pipe")}}, 2)->terms(0, 1).rate_cap == 8_Gbps);
}

TEST_CASE("faster links: alike are those that join the same kinds of devices at the same rate, both ways") {
  const auto tree = build(FatTree{.leaves = 4, .nodes_per_leaf = 3, .spines = 2, .host_link = link_100g, .fabric_link = link_100g});
  CHECK(alike(*tree, "leaf1->spine0") == "16 links between leaf* and spine*");
  CHECK(alike(*tree, "spine1->leaf3") == "16 links between leaf* and spine*");
  CHECK(alike(*tree, "leaf0/node2->leaf0") == "24 links between leaf*/node* and leaf*");

  const auto bigraph = build(BiGraph{.switches = 4, .nodes_per_switch = 2, .host_link = link_100g, .fabric_link = link_100g});
  CHECK(alike(*bigraph, "upper0->lower1") == "8 links between lower* and upper*");
  CHECK(alike(*bigraph, "upper0/node0->upper0") == "16 links between nodes and switches of tier 1");

  // names without a pattern, and a cable that is faster than the others
  GraphFabric graph{.nodes = {"rome", "paris"}, .switches = {"s"}};
  graph.links = {{.from = "rome", .to = "s", .bandwidth = link_100g.bandwidth, .latency = link_100g.latency},
                 {.from = "paris", .to = "s", .bandwidth = link_100g.bandwidth, .latency = link_100g.latency}};
  CHECK(alike(*build(FabricSpec(graph)), "rome->s") == "4 links between nodes and switches of tier 1");
  graph.links[1].bandwidth.count *= 2;
  CHECK(alike(*build(FabricSpec(graph)), "paris->s") == "2 links between paris and s");
}
