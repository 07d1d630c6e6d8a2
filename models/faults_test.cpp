#include "models/faults.hpp"

#include "models/fabric/fat_tree.hpp"
#include "models/server/server_fabric.hpp"

#include <algorithm>

#include <doctest/doctest.h>

using namespace weft;

namespace {

const LinkSpec wire{100_Gbps, 1_us};
const auto fabric = build(FatTree{.leaves = 2, .nodes_per_leaf = 2, .spines = 2, .host_link = wire, .fabric_link = wire});

std::string problem_of(const Failure& failure) {
  std::string out;
  for (const Problem& problem : problems(Faults{.failures = {failure}}, *fabric)) out += problem.where + ": " + problem.what + "\n";
  return out;
}

}  // namespace

TEST_CASE("faults: a link is one direction, a cable both, a switch all of its cables") {
  CHECK(links_of({.link = "leaf0->spine1"}, *fabric).size() == 1);
  CHECK(links_of({.cable = "leaf0->spine1"}, *fabric).size() == 2);
  CHECK(links_of({.cable = "spine1->leaf0"}, *fabric) == links_of({.cable = "leaf0->spine1"}, *fabric));
  CHECK(links_of({.network_switch = "leaf0"}, *fabric).size() == 8);
  CHECK(links_of({.network_switch = "leaf0/node0"}, *fabric).empty());
}

TEST_CASE("faults: what cannot be is refused with the nearest name") {
  CHECK(problem_of({.link = "leaf0->spine1", .at = 1_us, .until = 2_us, .remaining = 0.5}).empty());
  CHECK(problem_of({.link = "leaf0->spin1"}) ==
        "/failures/0/link: the fabric has no link \"leaf0->spin1\" (did you mean \"leaf0->spine1\"?)\n");
  CHECK(problem_of({.network_switch = "core"}) == "/failures/0/switch: the fabric has no switch \"core\"; it has such as \"leaf0\"\n");
  CHECK(problem_of({}) == "/failures/0: must name one of \"link\", \"cable\" and \"switch\", got 0 of them\n");
  CHECK(problem_of({.link = "leaf0->spine1", .network_switch = "spine1"}) ==
        "/failures/0: must name one of \"link\", \"cable\" and \"switch\", got 2 of them\n");
  CHECK(problem_of({.link = "leaf0->spine1", .at = 2_us, .until = 2_us}) == "/failures/0/until: must come after at = 2us, got 2us\n");
  CHECK(problem_of({.link = "leaf0->spine1", .remaining = 1}) == "/failures/0/remaining: must be at least 0 and less than 1, got 1\n");
}

TEST_CASE("faults: a device inside a server fails with all of its links, by its name in the graph; a GPU does not") {
  const auto servers = build(FabricSpec(Star{.nodes = 2, .host_link = wire}), server_preset("two_nic"));
  // A NIC has its cable and its PCIe link, both ways; a PCIe switch two GPUs or more, its NIC and its socket.
  const std::vector<LinkId> of_nic = links_of({.network_switch = "server0/nic0"}, *servers);
  CHECK(of_nic.size() == 4);
  CHECK(std::ranges::count_if(of_nic, [&](LinkId link) { return servers->link(link).in_server; }) == 2);
  CHECK(links_of({.network_switch = "server0/switch0"}, *servers).size() >= 8);
  CHECK(links_of({.network_switch = "server0/gpu0"}, *servers).empty());
}

TEST_CASE("faults: a link under contention is known by its two ends, and is the part that all of its traffic shares") {
  const auto servers = build(FabricSpec(Star{.nodes = 2, .host_link = wire}), server_preset("two_nic"));
  const std::vector<LinkId> whole = links_of({.cable = "server0/socket0->server0/socket0-socket1"}, *servers);
  REQUIRE(whole.size() == 2);
  CHECK(links_of({.cable = "server0/socket0->server0/socket1"}, *servers) == whole);
  CHECK(links_of({.cable = "server0/socket1->server0/socket0"}, *servers) == whole);
  CHECK(links_of({.link = "server0/socket1->server0/socket0"}, *servers) ==
        links_of({.link = "server0/socket0-socket1->server0/socket0"}, *servers));
}
