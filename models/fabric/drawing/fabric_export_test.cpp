#include "models/fabric/drawing/fabric_export.hpp"

#include "kernels/base/error.hpp"
#include "models/fabric/fabric_spec.hpp"
#include "models/fabric/fabric_test.hpp"
#include "models/fabric/routes.hpp"
#include "models/fabric/simgrid_fabric.hpp"

#include <set>
#include <sstream>
#include <tuple>

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace weft {
using test::link_100g;

namespace {

const BiGraph small{.switches = 4, .nodes_per_switch = 2, .host_link = link_100g, .fabric_link = {50_Gbps, 1500_ns}};

// Reads back what to_json writes.
GraphFabric graph_from(const nlohmann::json& json) {
  GraphFabric spec{.nodes = json.at("nodes").get<std::vector<std::string>>(),
                   .switches = json.at("switches").get<std::vector<std::string>>()};
  for (const auto& link : json.at("links"))
    spec.links.push_back({link.at("from").get<std::string>(), link.at("to").get<std::string>(),
                          parse_bandwidth(link.at("bandwidth").get<std::string>()), parse_time(link.at("latency").get<std::string>()),
                          link.value("bidirectional", true)});
  return spec;
}

}  // namespace

TEST_CASE("export: names are quoted for each format") {
  const auto net = build(
      GraphFabric{.nodes = {"a\"b", "<c&d>"}, .links = {{"a\"b", "<c&d>", 1_Gbps, 1_us, false}, {"<c&d>", "a\"b", 2_Gbps, 1_us, false}}});
  std::ostringstream xml;
  to_simgrid_xml(*net, {}, xml);
  CHECK(xml.str().find("<link id=\"a&quot;b-&gt;&lt;c&amp;d&gt;\" bandwidth=\"1000000000bps\"") != std::string::npos);
}

TEST_CASE("export: json is a scenario's explicit fabric, with a cable once") {
  std::ostringstream out;
  out << graph_json(*build(small));
  const auto json = nlohmann::json::parse(out.str());
  CHECK(json.at("type") == "graph");
  CHECK(json.at("links").size() == 12);
  CHECK(json.at("links").at(11) == nlohmann::json{{"from", "upper1"}, {"to", "lower1"}, {"bandwidth", "50Gbps"}, {"latency", "1.5us"}});
}

TEST_CASE("export: the fabric built from its json has the same links, and Boost.Graph counts the same paths") {
  for (const FabricSpec& spec :
       {FabricSpec(small), FabricSpec(Star{.nodes = 3, .host_link = link_100g}),
        FabricSpec(FatTree{.leaves = 3, .nodes_per_leaf = 2, .spines = 4, .host_link = link_100g, .fabric_link = link_100g}),
        FabricSpec(FatTree{.k = 4, .host_link = link_100g, .fabric_link = link_100g})}) {
    CAPTURE(type_name(spec));
    const auto net = build(spec);
    std::ostringstream out;
    out << graph_json(*net);
    const auto again = build(graph_from(nlohmann::json::parse(out.str())));
    REQUIRE(again->links() == net->links());
    for (LinkId id = 0; id < net->links(); ++id) {
      CHECK(again->link_name(id) == net->link_name(id));
      CHECK(again->link(id).bandwidth == net->link(id).bandwidth);
      CHECK(again->link(id).latency == net->link(id).latency);
    }
    for (int a = 0; a < net->endpoints(); ++a)
      for (int b = 0; b < net->endpoints(); ++b)
        if (a != b) CHECK(again->path_count(a, b) == net->path_count(a, b));
  }
}

TEST_CASE("export: json says which links go one way") {
  const GraphFabric ring{.nodes = {"a", "b"}, .links = {{"a", "b", 1_Gbps, 1_us, false}, {"b", "a", 2_Gbps, 1_us, false}}};
  std::ostringstream out;
  out << graph_json(*build(ring));
  const GraphFabric read = graph_from(nlohmann::json::parse(out.str()));
  CHECK(read == ring);
}

TEST_CASE("export: the SimGrid platform lists hosts, links and the route that ECMP chose for every pair") {
  const auto net = build(small);
  std::stringstream xml;
  to_simgrid_xml(*net, {EcmpPolicy::d_mod_k, 0}, xml);
  boost::property_tree::ptree tree;
  boost::property_tree::read_xml(xml, tree);
  CHECK(tree.get<std::string>("platform.<xmlattr>.version") == "4.1");
  const auto& zone = tree.get_child("platform.zone");
  std::set<std::string> hosts, links;
  int routes = 0;
  Routes expected(*net, {EcmpPolicy::d_mod_k, 0});
  for (const auto& [tag, item] : zone) {
    if (tag == "host") hosts.insert(item.get<std::string>("<xmlattr>.id"));
    if (tag == "link") links.insert(item.get<std::string>("<xmlattr>.id"));
    if (tag != "route") continue;
    ++routes;
    const int from = test::endpoint_named(*net, item.get<std::string>("<xmlattr>.src"));
    const int to = test::endpoint_named(*net, item.get<std::string>("<xmlattr>.dst"));
    CHECK(item.get<std::string>("<xmlattr>.symmetrical") == "NO");
    std::vector<std::string> named, wanted;
    for (const auto& [part, link] : item)
      if (part == "link_ctn") named.push_back(link.get<std::string>("<xmlattr>.id"));
    for (const Hop& hop : expected.hops(expected.of(from, to))) wanted.push_back(net->link_name(hop.link));
    CHECK(named == wanted);
  }
  CHECK(hosts.size() == 8);
  CHECK(hosts.contains("lower1/node1"));
  CHECK(links.size() == static_cast<std::size_t>(net->links()));
  CHECK(routes == 8 * 7);
  CHECK(xml.str().find("<link id=\"upper0-&gt;lower0\" bandwidth=\"50000000000bps\" latency=\"1.5us\" sharing_policy=\"SHARED\"/>") !=
        std::string::npos);
}

TEST_CASE("export: a SimGrid platform of more than 512 endpoints has a route for each link, and the shortest ways are the fabric's") {
  const auto net = build(FatTree{.leaves = 33, .nodes_per_leaf = 16, .spines = 4, .host_link = link_100g, .fabric_link = link_100g});
  std::ostringstream out;
  to_simgrid_xml(*net, {}, out);
  const auto platform = read_platform(out.str());
  REQUIRE(platform->hosts.size() == 528);
  CHECK(platform->links.size() == static_cast<std::size_t>(net->links()));
  for (const auto& [from, to, hops] : {std::tuple{0, 1, 2}, {0, 16, 4}, {527, 3, 4}}) {
    std::vector<int> links;
    CHECK(platform->append_route(platform->hosts[static_cast<std::size_t>(from)], platform->hosts[static_cast<std::size_t>(to)], links));
    CHECK(static_cast<int>(links.size()) == hops);
  }
}

TEST_CASE("export: a SimGrid platform read back is the same fabric") {
  const auto net = build(FatTree{.leaves = 4, .nodes_per_leaf = 2, .spines = 2, .host_link = link_100g, .fabric_link = link_100g});
  std::ostringstream out;
  to_simgrid_xml(*net, {EcmpPolicy::d_mod_k, 0}, out);
  const auto read = build(SimgridFabric{.file = "exported", .platform = read_platform(out.str())});
  Routes ours(*net, {EcmpPolicy::d_mod_k, 0}), theirs(*read, {});
  for (int from = 0; from < net->endpoints(); ++from)
    for (int to = 0; to < net->endpoints(); ++to) {
      if (from == to) continue;
      std::vector<std::string> wanted, found;
      for (const Hop& hop : ours.hops(ours.of(from, to))) wanted.push_back(net->link_name(hop.link));
      for (const Hop& hop : theirs.hops(theirs.of(from, to))) found.push_back(read->link_name(hop.link));
      CHECK(found == wanted);
      CHECK(ours.latency(ours.of(from, to)) == theirs.latency(theirs.of(from, to)));
      CHECK(ours.bandwidth(ours.of(from, to)) == theirs.bandwidth(theirs.of(from, to)));
    }
}

}  // namespace weft
