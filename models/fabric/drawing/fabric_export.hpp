// A fabric as other programs read it. (`weft topo --json | --simgrid`)
#pragma once

#include "models/fabric/fabric.hpp"

#include <iosfwd>

#include <nlohmann/json_fwd.hpp>

namespace weft {

// {"type": "graph", "nodes": [...], "switches": [...], "links": [...]}: a scenario's own form of an explicit fabric, with
// bandwidth and latency as quantities. The devices of servers stand among the switches. A link that goes one way only says "bidirectional":
// false.
nlohmann::ordered_json graph_json(const Fabric& fabric);

// A SimGrid platform, version 4.1: a host for each endpoint, servers with the devices and links in them, a link for each direction. Up
// to max_explicit_endpoints, and wherever endpoints have several links (in servers), with a route for each pair of endpoints, as chosen
// by `ecmp` (in the order of the pairs). Beyond that with a route for each link, among which SimGrid finds shortest ways: one for each
// pair, whatever `ecmp` says.
inline constexpr int max_explicit_endpoints = 512;
void to_simgrid_xml(const Fabric& fabric, Ecmp ecmp, std::ostream& out);

}  // namespace weft
