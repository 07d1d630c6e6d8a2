#include "models/fabric/drawing/drawing.hpp"

#include "models/fabric/bigraph.hpp"
#include "models/fabric/drawing/oversubscription.hpp"
#include "models/fabric/fabric_spec.hpp"
#include "models/fabric/fabric_test.hpp"
#include "models/server/server_fabric.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <doctest/doctest.h>

using namespace weft;
using test::leaf_spine;
using test::link_100g;

namespace {

std::vector<std::string> labels_of(const Drawing& drawing) {
  std::vector<std::string> out;
  for (const Drawing::Box& box : drawing.boxes) out.push_back(fmt::format("{} {}", box.tier, box.label));
  std::ranges::sort(out);
  return out;
}

int cables_of(const Drawing& drawing) {
  int sum = 0;
  for (const Drawing::Bundle& bundle : drawing.bundles) sum += bundle.cables;
  return sum;
}

}  // namespace

TEST_CASE("drawing: a small fabric shows each device in its tier") {
  const Drawing drawing = drawing_of(*build(leaf_spine(2, 2, 1)));
  CHECK(labels_of(drawing) ==
        std::vector<std::string>{"0 leaf0/node0", "0 leaf0/node1", "0 leaf1/node0", "0 leaf1/node1", "1 leaf0", "1 leaf1", "2 spine0"});
  CHECK(cables_of(drawing) == 6);
  CHECK(drawing.in_tiers);
}

TEST_CASE("drawing: above 64 devices the nodes of a switch stand together, then switches of one kind") {
  const Drawing nodes = drawing_of(*build(leaf_spine(8, 8, 8)));
  CHECK(nodes.boxes.size() == 24);
  CHECK(std::ranges::count(nodes.boxes, "8 nodes", &Drawing::Box::label) == 8);
  CHECK(cables_of(nodes) == 128);
  const Drawing switches = drawing_of(*build(leaf_spine(128, 8, 16)));
  CHECK(labels_of(switches) ==
        std::vector<std::string>{"0 1024 nodes", "1 128 switches: leaf0 to leaf127", "2 16 switches: spine0 to spine15"});
  CHECK(cables_of(switches) == 1024 + 128 * 16);
  CHECK(label_of(switches.bundles.front()) == "1024 x 100Gbps 500ns");
}

TEST_CASE("drawing: servers are boxes of their own where their devices are too many") {
  const auto fabric = build(FabricSpec(leaf_spine(2, 4, 2)), server_preset("dgx_h100"));
  const std::vector<std::string> labels = labels_of(drawing_of(*fabric));
  CHECK(std::ranges::count_if(labels, [](const std::string& label) { return label.ends_with(": 8 GPUs, 8 NICs"); }) == 8);
}

TEST_CASE("drawing: servers of many devices are one box where switches of one kind are") {
  const auto fabric = build(FabricSpec(Star{.nodes = 128, .host_link = link_100g}), server_preset("dgx_h100"));
  const std::vector<std::string> labels = labels_of(drawing_of(*fabric));
  REQUIRE(labels.size() == 2);
  CHECK(std::ranges::count_if(labels, [](const std::string& label) { return label.ends_with("128 servers of 8 GPUs, 8 NICs"); }) == 1);
}

TEST_CASE("drawing: the halves of a BiGraph are tiers with their nodes outside; a torus is drawn in circles") {
  const Drawing halves =
      drawing_of(*build(BiGraph{.switches = 4, .nodes_per_switch = 1, .host_link = link_100g, .fabric_link = link_100g}));
  CHECK(halves.in_tiers);
  for (const Drawing::Box& box : halves.boxes) {
    CAPTURE(box.label);
    const bool upper = box.label.starts_with("upper"), node = box.kind == DeviceKind::endpoint;
    CHECK(box.tier == (upper ? (node ? 3 : 2) : (node ? 0 : 1)));
  }
  CHECK(!drawing_of(*build(Torus{.dims = {3, 3}, .nodes_per_switch = 1, .host_link = link_100g, .fabric_link = link_100g})).in_tiers);
}

TEST_CASE("drawing: labels are rounded, and both formats name every box and hold every bundle") {
  CHECK(label_of({.cables = 1, .bandwidth = BitsPerSecond{105'853'658'536}, .latency = SimTime{1'234'567}}) == "105.9Gbps 1.235us");
  for (const FabricSpec& spec :
       std::vector<FabricSpec>{leaf_spine(2, 2, 2), leaf_spine(128, 8, 16), Star{.nodes = 3, .host_link = link_100g},
                               Torus{.dims = {3, 3}, .nodes_per_switch = 1, .host_link = link_100g, .fabric_link = link_100g}}) {
    const Drawing drawing = drawing_of(*build(spec));
    std::ostringstream dot;
    std::stringstream svg;
    to_dot(drawing, dot);
    to_svg(drawing, svg);
    for (const Drawing::Box& box : drawing.boxes) CHECK(dot.str().find("label=\"" + box.label + "\"") != std::string::npos);
    boost::property_tree::ptree picture;
    boost::property_tree::read_xml(svg, picture);
    std::size_t boxes = 0;
    for (const auto& [group, content] : picture.get_child("svg"))
      if (group == "g") boxes += content.count("rect");
    CHECK(boxes == drawing.boxes.size());
  }
}

TEST_CASE(
    "drawing: in a small server each device has its tier, away from the switches; a legend tells of cables, not of what is in servers") {
  const Drawing drawing = drawing_of(*build(FabricSpec(Star{.nodes = 2, .host_link = link_100g}), server_preset("two_nic")));
  const auto tier_of = [&](const char* label) { return std::ranges::find(drawing.boxes, label, &Drawing::Box::label)->tier; };
  CHECK(tier_of("switch") == 1);
  CHECK(tier_of("server1/nic0") == 0);
  CHECK(tier_of("server1/switch0") == -1);
  CHECK(tier_of("server1/gpu0") == -2);
  std::ostringstream dot;
  to_dot(drawing, dot);
  CHECK(dot.str().find("label=\"4 cables of 100Gbps 500ns\";") != std::string::npos);
}

TEST_CASE("drawing: no label of a line covers another") {
  Drawing drawing{.boxes = {{.label = "switch", .kind = DeviceKind::network_switch, .tier = 1}}};
  for (std::size_t i = 1; i <= 6; ++i) {
    drawing.boxes.push_back({.label = fmt::format("rack0/{}", i)});
    drawing.bundles.push_back({.from = i, .to = 0, .cables = 1, .bandwidth = i == 6 ? 10_Gbps : 100_Gbps, .latency = 500_ns});
  }
  std::stringstream svg;
  to_svg(drawing, svg);
  boost::property_tree::ptree picture;
  boost::property_tree::read_xml(svg, picture);
  std::vector<std::pair<double, double>> places;
  for (const auto& [name, text] : picture.get_child("svg.g"))
    if (name == "text") places.emplace_back(text.get<double>("<xmlattr>.x"), text.get<double>("<xmlattr>.y"));
  REQUIRE(places.size() == 6);
  constexpr double high = 9, wide = 60;  // "100Gbps 500ns"
  for (std::size_t i = 0; i < places.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      CHECK((std::abs(places[i].first - places[k].first) >= wide || std::abs(places[i].second - places[k].second) >= high));
}

TEST_CASE("drawing: names are quoted for each format") {
  const auto net = build(
      GraphFabric{.nodes = {"a\"b", "<c&d>"}, .links = {{"a\"b", "<c&d>", 1_Gbps, 1_us, false}, {"<c&d>", "a\"b", 2_Gbps, 1_us, false}}});
  std::ostringstream dot, svg;
  to_dot(drawing_of(*net), dot);
  CHECK(dot.str().find("label=\"a\\\"b\"") != std::string::npos);
  to_svg(drawing_of(*net), svg);
  CHECK(svg.str().find(">a&quot;b</text>") != std::string::npos);
  CHECK(svg.str().find(">&lt;c&amp;d&gt;</text>") != std::string::npos);
}

TEST_CASE("oversubscription: cables of NICs down against cables to other switches, at the worst switch") {
  // 64 cables down and 8 up
  const auto dgx = most_oversubscribed(*build(FabricSpec(leaf_spine(4, 8, 8)), server_preset("dgx_h100")));
  REQUIRE(dgx);
  CHECK(dgx->ratio == 8.0);
  CHECK(dgx->down == 64);
  CHECK(dgx->up == 8);
  CHECK(most_oversubscribed(*build(leaf_spine(4, 8, 4)))->ratio == 2.0);
  FatTree fast_spines = leaf_spine(4, 8, 2);
  fast_spines.fabric_link.bandwidth = 400_Gbps;
  CHECK(most_oversubscribed(*build(fast_spines))->ratio == 1.0);
  CHECK(most_oversubscribed(*build(FabricSpec(leaf_spine(4, 1, 4)), server_preset("dgx_h100")))->ratio == 2.0);
  CHECK(!most_oversubscribed(*build(Star{.nodes = 4, .host_link = link_100g})));
}
