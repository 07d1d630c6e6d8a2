#include "models/fabric/programmable.hpp"

#include "models/fabric/fabric_spec.hpp"

#include <doctest/doctest.h>

using namespace weft;

namespace {

const LinkSpec wire{100_Gbps, 500_ns};
const FabricSpec two_racks = FatTree{.leaves = 2, .nodes_per_leaf = 2, .spines = 2, .host_link = wire, .fabric_link = wire};

std::vector<std::string> names(const ProgrammableSwitches& p) {
  const auto fabric = build(two_racks);
  std::vector<std::string> out;
  for (const NodeId node : programmable_nodes(p, *fabric)) out.push_back(fabric->device(node).name);
  return out;
}

}  // namespace

TEST_CASE("programmable: unless said otherwise the switches with endpoints are, and no others") {
  CHECK(names({}) == std::vector<std::string>{"leaf0", "leaf1"});
  CHECK(names({.switches = {"leaf1", "spine0"}}).size() == 2);
  CHECK(names({.switches = {"leaf1", "leaf1"}}) == std::vector<std::string>{"leaf1"});
  CHECK(names({.switches = {}}).empty());
}

TEST_CASE("programmable: names that are no switches of the fabric are told, each at its place") {
  const auto fabric = build(two_racks);
  CHECK(problems(ProgrammableSwitches{}, *fabric).empty());
  const std::vector<Problem> found = problems(ProgrammableSwitches{.switches = {"leaf0", "leaf7", "leaf0/node0"}}, *fabric);
  REQUIRE(found.size() == 2);
  CHECK(found[0].where == "/switches/1");
  CHECK(found[0].what == "the fabric has no switch \"leaf7\"; it has switches such as \"leaf0\"");
  CHECK(found[1].where == "/switches/2");
}

TEST_CASE("programmable: payloads without room for a value and rates that cannot be are told") {
  ProgrammableSwitches p{.payload = Bytes{3}, .packets_per_second = -1};
  std::string all;
  for (const Problem& problem : problems(p, *build(FabricSpec{Star{.nodes = 2, .host_link = {100_Gbps, 1_us}}})))
    all += problem.where + ": " + problem.what + "\n";
  CHECK(all == "/payload: must hold at least one value of 4 bytes, got 3B\n/packets_per_second: must be at least 1, got -1\n");
}
