#include "models/fabric/analysis/detours.hpp"

#include "models/fabric/fabric_test.hpp"
#include "models/fabric/fat_tree.hpp"
#include "models/fabric/torus.hpp"
#include "models/faults.hpp"

#include <doctest/doctest.h>

using namespace weft;

namespace {

std::vector<LinkId> first_path(const Fabric& fabric, int from, int to) {
  std::vector<LinkId> out;
  for (const Hop& hop : test::path_of(fabric, from, to, 0)) out.push_back(hop.link);
  return out;
}

std::string drawn(const Fabric& fabric, const std::vector<LinkId>& path) {
  std::string out = fabric.device(fabric.from(path.front())).name;
  for (const LinkId id : path) out += " " + fabric.device(fabric.to(id)).name;
  return out;
}

std::vector<LinkId> links_of_switch(const Fabric& fabric, const std::string& name) {
  return links_of(Failure{.network_switch = name}, fabric);
}

}  // namespace

TEST_CASE("detours: another of the equal-cost paths, else the shortest way between switches, else none") {
  const auto fabric =
      build(FatTree{.leaves = 2, .nodes_per_leaf = 2, .spines = 2, .host_link = test::link_100g, .fabric_link = test::link_100g});
  Detours detours(*fabric, {});
  const std::vector<LinkId> path = first_path(*fabric, 0, 2);
  CHECK(detours.around(path) == path);
  detours.set_down(links_of_switch(*fabric, "spine0"));
  CHECK(drawn(*fabric, detours.around(path)) == "leaf0/node0 leaf0 spine1 leaf1 leaf1/node0");
  CHECK(detours.around(first_path(*fabric, 0, 1)) == first_path(*fabric, 0, 1));
  detours.set_down(links_of(Failure{.cable = "leaf0/node0->leaf0"}, *fabric));
  CHECK(detours.around(path) == path);
  std::vector<LinkId> both = links_of_switch(*fabric, "spine0");
  for (const LinkId id : links_of_switch(*fabric, "spine1")) both.push_back(id);
  detours.set_down(both);
  CHECK(detours.around(path) == path);
}

TEST_CASE("detours: a torus goes round the other way, and what is no link of the fabric stays at the end of a path") {
  const auto fabric = build(Torus{.dims = {4}, .nodes_per_switch = 1, .host_link = test::link_100g, .fabric_link = test::link_100g});
  Detours detours(*fabric, {});
  std::vector<LinkId> path = first_path(*fabric, 0, 1);
  detours.set_down({path[1]});
  path.push_back(fabric->links() + 7);
  std::vector<LinkId> other = detours.around(path);
  CHECK(other.back() == fabric->links() + 7);
  other.pop_back();
  CHECK(other.size() == 5);  // three hops between switches instead of one
}
