#include "sim/report/fabric_picture.hpp"

#include "models/fabric/fat_tree.hpp"
#include "models/fabric/star.hpp"
#include "models/server/server.hpp"
#include "models/server/server_fabric.hpp"

#include <algorithm>

#include <doctest/doctest.h>

using namespace weft;

namespace {

Timeline on(std::shared_ptr<const Fabric> fabric) {
  Timeline out;
  out.activity.bytes_on_link.resize(static_cast<std::size_t>(fabric->links()));
  out.activity.end = 1_us;
  out.fabric = std::move(fabric);
  return out;
}

auto count(const Json& nodes, const char* kind) {
  return std::ranges::count_if(nodes, [&](const Json& n) { return n["kind"] == kind; });
}

const LinkSpec cable{8_Gbps, 0_us};

}  // namespace

TEST_CASE("switches are in tiers, and every cable is a line for each direction with its use") {
  Timeline timeline = on(build(FatTree{.leaves = 2, .nodes_per_leaf = 2, .spines = 2, .host_link = cable, .fabric_link = cable}));
  for (LinkId id = 0; id < timeline.fabric->links(); ++id)
    if (timeline.fabric->link_name(id) == "leaf0->spine1") timeline.activity.bytes_on_link[static_cast<std::size_t>(id)] = 500;
  const Row row{.critical_path = CriticalPath{.bandwidth = 1_us, .limits = {{"leaf0->spine1", 1_us}}}};
  const Json picture = fabric_picture(timeline, row);
  CHECK(count(picture["nodes"], "host") == 4);
  CHECK(count(picture["nodes"], "switch") == 4);
  CHECK(picture["links"].size() == 16);
  for (const Json& node : picture["nodes"])
    if (node["kind"] == "switch") CHECK(node["tier"] == (node["name"].get<std::string>().starts_with("leaf") ? 1 : 2));
  // 500 bytes in 1 us are 4 Gb/s of 8.
  const auto used = std::ranges::find_if(picture["links"], [](const Json& l) { return l["use"] > 0; });
  REQUIRE(used != picture["links"].end());
  CHECK(picture["nodes"][(*used)["from"].get<std::size_t>()]["name"] == "leaf0");
  CHECK(picture["nodes"][(*used)["to"].get<std::size_t>()]["name"] == "spine1");
  CHECK((*used)["use"] == 0.5);
  CHECK((*used)["bottleneck_us"] == 1.0);
  for (const Json& one : picture["classes"])
    if (one["from"] == "switches of tier 1" && one["to"] == "switches of tier 2") {
      CHECK(one["links"] == 4);
      CHECK(one["mean"] == 0.125);
      CHECK(one["most"] == 0.5);
    }
}

TEST_CASE("above 64 hosts those of a switch are one, and a fabric too large to draw has its links by what they join only") {
  const auto picture = [](FatTree tree) { return fabric_picture(on(build(tree)), {}); };
  const Json wide = picture({.leaves = 4, .nodes_per_leaf = 32, .spines = 2, .host_link = cable, .fabric_link = cable});
  CHECK(count(wide["nodes"], "host") == 4);
  CHECK(std::ranges::all_of(wide["nodes"], [](const Json& n) { return n["kind"] == "switch" || n["hosts"] == 32; }));
  const Json huge = picture({.leaves = 600, .nodes_per_leaf = 1, .spines = 4, .host_link = cable, .fabric_link = cable});
  CHECK(!huge.contains("nodes"));
  CHECK(huge["classes"].size() == 4);
}

TEST_CASE("a server with its GPUs and NICs is one host") {
  const Json picture = fabric_picture(on(build(Star{.nodes = 3, .host_link = cable}, server_preset("dgx_h100"))), {});
  CHECK(count(picture["nodes"], "host") == 3);
  for (const Json& node : picture["nodes"])
    if (node["kind"] == "host") CHECK(node["name"].get<std::string>().starts_with("server"));
  for (const Json& line : picture["links"]) CHECK(line["cables"] == 8);
}
