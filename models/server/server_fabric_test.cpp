#include "models/server/server_fabric.hpp"

#include "collectives/registry/registry.hpp"
#include "models/fabric/analysis/deadlock.hpp"
#include "models/fabric/analysis/link_load.hpp"
#include "models/fabric/drawing/drawing.hpp"
#include "models/fabric/drawing/fabric_export.hpp"
#include "models/fabric/fabric_test.hpp"
#include "models/fabric/simgrid_fabric.hpp"

#include <sstream>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace weft;
using test::drawn;
using test::link_100g;

namespace {

std::string lines(const std::vector<Problem>& problems) {
  std::string text;
  for (const auto& [where, what] : problems) text += where + ": " + what + "\n";
  return text;
}

Server with_policy(const char* preset, PeerPolicy policy) {
  Server s = server_preset(preset);
  s.policy = policy;
  return s;
}

const FabricSpec two_on_a_star = Star{.nodes = 2, .host_link = link_100g};
const FabricSpec bigraph_16 = BiGraph{.switches = 16, .nodes_per_switch = 1, .host_link = link_100g, .fabric_link = link_100g};

}  // namespace

TEST_CASE("servers: an endpoint is a GPU, and a node of the fabric has a cable for each NIC") {
  const auto fabric = build(two_on_a_star, server_preset("congestionless"));
  CHECK(fabric->endpoints() == 8);
  CHECK(drawn(*fabric, "server0/gpu0", "server1/gpu2") ==
        "server0/gpu0 server0/switch0 server0/nic0 switch server1/nic2 server1/switch1 server1/gpu2");
  CHECK(drawn(*fabric, "server0/gpu0", "server0/gpu1") ==
        "server0/gpu0 server0/switch0 server0/nic0 switch server0/nic1 server0/switch0 server0/gpu1");
  CHECK(endpoints(two_on_a_star, server_preset("congestionless")) == 8);
  CHECK(endpoints(two_on_a_star, server_preset("sub_node")) == 2);
}

TEST_CASE("servers: inside a server the policy holds, and GPUs of one NIC meet in the NIC") {
  const auto upi = build(two_on_a_star, with_policy("single_nic", PeerPolicy::pcie_upi));
  CHECK(drawn(*upi, "server1/gpu0", "server1/gpu3") ==
        "server1/gpu0 server1/switch0 server1/socket0 server1/socket0-socket1 server1/socket1 server1/switch1 server1/gpu3");
  CHECK(drawn(*upi, "server0/gpu3", "server1/gpu0") ==
        "server0/gpu3 server0/switch1 server0/socket1 server0/socket0-socket1 server0/socket0 server0/switch0 server0/nic0 switch "
        "server1/nic0 server1/switch0 "
        "server1/gpu0");
  CHECK(upi->terms(0, 4) == FlowTerms{});
  CHECK(upi->terms(3, 4).weight < 1);
  const auto nic = build(two_on_a_star, with_policy("single_nic", PeerPolicy::nic));
  CHECK(drawn(*nic, "server0/gpu0", "server0/gpu1") == "server0/gpu0 server0/switch0 server0/nic0 server0/switch0 server0/gpu1");
}

TEST_CASE("servers: NICs that no GPU sends over are told, but where the server says which GPU uses which") {
  Server s = server_preset("congestionless");
  CHECK(said_of_idle_nics({}).empty());
  CHECK(said_of_idle_nics(s).empty());
  s.nics.push_back("another");
  s.links.push_back(s.links.back());
  s.links.back().from = s.pcie_switches.front(), s.links.back().to = "another";
  CHECK(said_of_idle_nics(s).starts_with("1 of the 5 NICs of a server carry nothing: each of its 4 GPUs sends over the nearest one."));
  s.nic_of_gpu.assign(s.gpus.size(), s.nics.front());
  CHECK(said_of_idle_nics(s).empty());
  CHECK(said_of_idle_nics(cpu_host({.cores = 8, .nics = 8})).empty());
  CHECK(said_of_idle_nics(cpu_host({.cores = 2, .nics = 4})) ==
        "2 of the 4 NICs of a server carry nothing: each of its 2 cores sends over the nearest one. NICs over which a library spreads the "
        "messages of one core are described as one NIC of the sum of their rates");
}

TEST_CASE("servers: hosts of cores with two NICs have the ports that other servers with two have") {
  const Server host = cpu_host({.cores = 4, .nics = 2});
  const auto fabric = build(two_on_a_star, host);
  CHECK(drawn(*fabric, "server0/core1", "server1/core2") ==
        "server0/core1 server0/socket0 server0/nic0 switch server1/nic1 server1/socket1 server1/core2");
  const FabricSpec k_6 = FatTree{.k = 6, .host_link = link_100g, .fabric_link = link_100g};
  for (const FabricSpec& spec : {two_on_a_star, bigraph_16, k_6}) {
    CAPTURE(type_name(spec));
    CHECK(ports_of(spec, host) == ports_of(spec, server_preset("two_nic")));
    CHECK(lines(problems(spec, host)) == lines(problems(spec, server_preset("two_nic"))));
  }
}

TEST_CASE("servers: all paths hold on every fabric") {
  const Server server = with_policy("two_nic", PeerPolicy::pcie_nic);
  const FabricSpec specs[] = {
      two_on_a_star,
      BiGraph{.switches = 8, .nodes_per_switch = 2, .host_link = link_100g, .fabric_link = link_100g},
      FatTree{.leaves = 2, .nodes_per_leaf = 2, .spines = 2, .host_link = link_100g, .fabric_link = link_100g},
      FatTree{.k = 4, .host_link = link_100g, .fabric_link = link_100g},
      Torus{.dims = {2, 3}, .nodes_per_switch = 1, .host_link = link_100g, .fabric_link = link_100g},
      GraphFabric{.nodes = {"a", "b"}, .switches = {"s"}, .links = {{"a", "s", 100_Gbps, 1_us}, {"b", "s", 100_Gbps, 1_us}}}};
  for (const FabricSpec& spec : specs) {
    CAPTURE(type_name(spec));
    const auto fabric = build(spec, server);
    CHECK(test::wrong_path(*fabric) == "");
    CHECK(fabric->endpoints() == endpoints(spec, server));
  }
}

TEST_CASE("servers: on rails NIC i of every server of a block hangs on switch i of it") {
  Server server = server_preset("congestionless");
  server.wiring = Wiring::rails;
  const FatTree tree{.leaves = 4, .nodes_per_leaf = 2, .spines = 2, .host_link = link_100g, .fabric_link = link_100g};
  const auto fabric = build(tree, server);  // 8 servers, 8 ports a leaf: all servers have their NIC i on leaf i
  CHECK(drawn(*fabric, "server0/gpu2", "server7/gpu2") ==
        "server0/gpu2 server0/switch1 server0/nic2 leaf2 server7/nic2 server7/switch1 server7/gpu2");
  server.policy = PeerPolicy::pcie_nic;
  CHECK(test::wrong_path(*build(tree, server)) == "");
  CHECK(lines(problems(two_on_a_star, server)) ==
        "/server/wiring: rails need a multiple of 4 switches with ports, one for each NIC; the star has 1\n");
}

TEST_CASE("servers: what does not fit together is refused") {
  CHECK(lines(problems(BiGraph{.switches = 8, .nodes_per_switch = 2, .host_link = link_100g, .fabric_link = link_100g},
                       server_preset("congestionless"))) ==
        "/fabric/nodes_per_switch: must be at most switches / 2 = 4 for a balanced BiGraph, got 8 (with 4 NICs a server)\n");
  CHECK(lines(problems(FatTree{.k = 6, .host_link = link_100g, .fabric_link = link_100g}, server_preset("two_nic"))) ==
        "/server: has 2 NICs, and the 3 ports of a switch are no multiple of it\n");
  CHECK(lines(problems(Star{.nodes = 2'000'000'000, .host_link = link_100g}, server_preset("dgx_h100"))) ==
        "/fabric/nodes: must be between 1 and 1000000, got 2000000000\n");
  CHECK_THROWS_WITH_AS(build(FatTree{.k = 6, .host_link = link_100g, .fabric_link = link_100g}, server_preset("two_nic")),
                       "/server: has 2 NICs, and the 3 ports of a switch are no multiple of it", InputError);
}

TEST_CASE("servers: deadlock is looked for between switches, and one priority still closes the cycle") {
  const Server server = server_preset("congestionless");
  BiGraph unsafe{.switches = 8, .nodes_per_switch = 1, .host_link = link_100g, .fabric_link = link_100g, .priorities = 1};
  const DeadlockCheck cycle = check_deadlock(*build(unsafe, server));
  CHECK(cycle.can_deadlock());
  unsafe.priorities = 2;
  const DeadlockCheck safe = check_deadlock(*build(unsafe, server)), plain = check_deadlock(*build(FabricSpec(unsafe)));
  CHECK(!safe.can_deadlock());
  CHECK(safe.channels == plain.channels);
  CHECK(safe.dependencies == plain.dependencies);
}

TEST_CASE("servers: hdrm keeps every link between switches to one flow when each GPU has a NIC") {
  const Server server = server_preset("congestionless");
  const auto fabric = build(bigraph_16, server);
  REQUIRE(fabric->endpoints() == 64);
  Routes routes(*fabric, {});
  const Schedule hd = build(Request{.algorithm = "halving_doubling", .ranks = 64});
  const auto placed = place({.policy = PlacementPolicy::hdrm}, 64, bigraph_16, server);
  CHECK(link_load(hd, placed, routes).max_flows_per_link() == 1);
  const auto linear = place({}, 64, bigraph_16, server);
  CHECK(link_load(hd, linear, routes).max_flows_per_link() > 1);
  CHECK(lines(problems({.policy = PlacementPolicy::hdrm}, 64, bigraph_16, server_preset("two_nic"))) ==
        ": hdrm needs a NIC for each GPU of a server\n");
}

TEST_CASE("servers: copies go between a GPU and the memory of its socket") {
  const auto fabric = build(two_on_a_star, server_preset("two_nic"));
  std::vector<Hop> path;
  REQUIRE(fabric->append_copy_path(7, Fabric::Copy::to_endpoint, path));
  CHECK(fabric->device(fabric->from(path.front().link)).name == "server1/socket1/memory");
  CHECK(fabric->to(path.back().link) == fabric->node_of(7));
  CHECK(!build(two_on_a_star)->append_copy_path(0, Fabric::Copy::to_host, path));
}

TEST_CASE("servers: exports hold the devices of servers") {
  const auto fabric = build(two_on_a_star, server_preset("single_nic"));
  std::ostringstream dot, json;
  to_dot(drawing_of(*fabric), dot);
  json << graph_json(*fabric);
  CHECK(dot.str().find("label=\"server1/nic0\", shape=component,") != std::string::npos);
  CHECK(json.str().find("\"server1/gpu3\"") != std::string::npos);
}

TEST_CASE("server fabric: what a FATPIPE of a platform leaves one flow holds between servers on its hosts, and not inside them") {
  const FabricSpec platform = SimgridFabric{.file = "", .platform = read_platform(R"(<platform version="4.1">
    <zone id="z" routing="Full"><host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
    <link id="pipe" bandwidth="4Gbps" latency="1us" sharing_policy="FATPIPE"/>
    <route src="a" dst="b"><link_ctn id="pipe"/></route></zone></platform>)")};
  const auto net = build(platform, server_preset("single_nic"));
  CHECK(net->terms(0, net->endpoints() - 1).rate_cap == 4_Gbps);
  CHECK(net->terms(0, 1).rate_cap.count == 0);
}
