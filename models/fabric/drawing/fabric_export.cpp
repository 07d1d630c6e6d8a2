#include "models/fabric/drawing/fabric_export.hpp"

#include "kernels/base/error.hpp"
#include "models/fabric/drawing/cables.hpp"
#include "models/fabric/graph.hpp"
#include "models/fabric/routes.hpp"

#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace weft {
namespace {

template <class Visit>
void for_each_device(const Fabric& fabric, Visit visit) {
  const auto count = fabric.devices();
  for (NodeId id = 0; id < count; ++id) visit(fabric.device(id));
}

std::string escaped(std::string_view text, std::string_view special, const char* const* instead) {
  std::string result;
  for (const char c : text) {
    const auto at = special.find(c);
    if (at == std::string_view::npos)
      result += c;
    else
      result += instead[at];
  }
  return result;
}

std::string xml_quoted(std::string_view text) {
  static constexpr const char* instead[] = {"&amp;", "&lt;", "&gt;", "&quot;"};
  return fmt::format("\"{}\"", escaped(text, "&<>\"", instead));
}

}  // namespace

nlohmann::ordered_json graph_json(const Fabric& fabric) {
  auto nodes = nlohmann::ordered_json::array(), switches = nodes, links = nodes;
  for_each_device(fabric, [&](const Device& device) { (device.kind == DeviceKind::endpoint ? nodes : switches).push_back(device.name); });
  for_each_cable(fabric, [&](LinkId id, bool both_ways) {
    const Link& link = fabric.link(id);
    nlohmann::ordered_json entry{{"from", fabric.device(fabric.from(id)).name},
                                 {"to", fabric.device(fabric.to(id)).name},
                                 {"bandwidth", to_string(link.bandwidth)},
                                 {"latency", to_string(link.latency)}};
    if (!both_ways) entry["bidirectional"] = false;
    links.push_back(std::move(entry));
  });
  return {{"type", "graph"}, {"nodes", nodes}, {"switches", switches}, {"links", links}};
}

namespace {

std::string quoted_device(const Fabric& fabric, NodeId id) { return xml_quoted(fabric.device(id).name); }

// Shortest ways may not lead through endpoints: they do not where each hangs on one link.
bool endpoints_hang_on_one_link(const Fabric& fabric) {
  for (int e = 0; e < fabric.endpoints(); ++e)
    if (boost::out_degree(static_cast<std::size_t>(fabric.node_of(e)), fabric.graph()) != 1) return false;
  return true;
}

void write_route_of_each_pair(const Fabric& fabric, Ecmp ecmp, const std::vector<std::string>& links, std::ostream& out) {
  Routes routes(fabric, ecmp);
  for (int from = 0; from < fabric.endpoints(); ++from)
    for (int to = 0; to < fabric.endpoints(); ++to) {
      if (from == to) continue;
      out << "    <route src=" << quoted_device(fabric, fabric.node_of(from)) << " dst=" << quoted_device(fabric, fabric.node_of(to))
          << " symmetrical=\"NO\">";
      for (const Hop& hop : routes.hops(routes.of(from, to))) out << "<link_ctn id=" << links[static_cast<std::size_t>(hop.link)] << "/>";
      out << "</route>\n";
    }
}

// Of parallel cables the first one.
void write_route_of_each_link(const Fabric& fabric, const std::vector<std::string>& links, std::ostream& out) {
  std::set<std::pair<NodeId, NodeId>> joined;
  for (LinkId id = 0; id < fabric.links(); ++id)
    if (joined.emplace(fabric.from(id), fabric.to(id)).second)
      out << "    <route src=" << quoted_device(fabric, fabric.from(id)) << " dst=" << quoted_device(fabric, fabric.to(id))
          << " symmetrical=\"NO\"><link_ctn id=" << links[static_cast<std::size_t>(id)] << "/></route>\n";
}

}  // namespace

void to_simgrid_xml(const Fabric& fabric, Ecmp ecmp, std::ostream& out) {
  const bool explicitly = fabric.endpoints() <= max_explicit_endpoints || !endpoints_hang_on_one_link(fabric);
  out << "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\">\n";
  if (!explicitly)
    out << "  <!-- Shortest ways, one for each pair of hosts: where there are several, SimGrid's choice and not that of ecmp. -->\n";
  out << "  <zone id=\"(fabric)\" routing=\"" << (explicitly ? "Full" : "DijkstraCache") << "\">\n";
  for (int e = 0; e < fabric.endpoints(); ++e) out << "    <host id=" << quoted_device(fabric, fabric.node_of(e)) << " speed=\"1Gf\"/>\n";
  const auto devices = fabric.devices();
  for (NodeId id = 0; id < devices && !explicitly; ++id)
    if (fabric.device(id).kind != DeviceKind::endpoint) out << "    <router id=" << quoted_device(fabric, id) << "/>\n";
  std::vector<std::string> links;
  for (LinkId id = 0; id < fabric.links(); ++id) {
    links.push_back(xml_quoted(fabric.link_name(id)));
    out << "    <link id=" << links.back() << " bandwidth=\"" << fabric.link(id).bandwidth.count << "bps\" latency=\""
        << to_string(fabric.link(id).latency) << "\" sharing_policy=\"SHARED\"/>\n";
  }
  if (explicitly)
    write_route_of_each_pair(fabric, ecmp, links, out);
  else
    write_route_of_each_link(fabric, links, out);
  out << "  </zone>\n</platform>\n";
}

}  // namespace weft
