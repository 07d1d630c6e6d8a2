#include "models/fabric/fabric_export.hpp"

#include "kernels/base/error.hpp"
#include "models/fabric/cables.hpp"
#include "models/fabric/routes.hpp"

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace weft {
namespace {

template <class Visit>
void for_each_device(const Fabric& fabric, Visit visit) {
  const auto count = static_cast<NodeId>(boost::num_vertices(fabric.graph()));
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

void to_json(const Fabric& fabric, std::ostream& out) {
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
  const nlohmann::ordered_json graph{{"type", "graph"}, {"nodes", nodes}, {"switches", switches}, {"links", links}};
  out << graph.dump(2) << "\n";
}

void to_simgrid_xml(const Fabric& fabric, Ecmp ecmp, std::ostream& out) {
  if (fabric.endpoints() > max_simgrid_endpoints)
    throw InputError(
        fmt::format("a SimGrid platform of {} endpoints would list {} routes, one for each pair: at most {} endpoints are allowed",
                    fabric.endpoints(), std::int64_t{fabric.endpoints()} * (fabric.endpoints() - 1), max_simgrid_endpoints));
  const auto host = [&](int endpoint) { return xml_quoted(fabric.device(fabric.node_of(endpoint)).name); };
  std::vector<std::string> names;
  out << "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      << "<platform version=\"4.1\">\n  <zone id=\"fabric\" routing=\"Full\">\n";
  for (int e = 0; e < fabric.endpoints(); ++e) out << "    <host id=" << host(e) << " speed=\"1Gf\"/>\n";
  for (LinkId id = 0; id < fabric.links(); ++id) {
    names.push_back(xml_quoted(fabric.link_name(id)));
    out << "    <link id=" << names.back() << " bandwidth=\"" << fabric.link(id).bandwidth.count << "bps\" latency=\""
        << to_string(fabric.link(id).latency) << "\" sharing_policy=\"SHARED\"/>\n";
  }
  Routes routes(fabric, ecmp);
  for (int from = 0; from < fabric.endpoints(); ++from)
    for (int to = 0; to < fabric.endpoints(); ++to) {
      if (from == to) continue;
      out << "    <route src=" << host(from) << " dst=" << host(to) << " symmetrical=\"NO\">";
      for (const Hop& hop : routes.hops(routes.of(from, to))) out << "<link_ctn id=" << names[static_cast<std::size_t>(hop.link)] << "/>";
      out << "</route>\n";
    }
  out << "  </zone>\n</platform>\n";
}

}  // namespace weft
