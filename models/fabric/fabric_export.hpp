// A fabric as other programs read it. (`weft topo --json | --simgrid`)
#pragma once

#include "models/fabric/fabric.hpp"

#include <iosfwd>

namespace weft {

// {"type": "graph", "nodes": [...], "switches": [...], "links": [...]}: a scenario's own form of an explicit fabric, with
// bandwidth and latency as quantities. The devices of servers stand among the switches. A link that goes one way only says "bidirectional":
// false.
void to_json(const Fabric& fabric, std::ostream& out);

// A SimGrid platform, version 4.1: a host for each endpoint, a link for each direction, and a route for each pair of
// endpoints, as chosen by `ecmp` (in the order of the pairs). Throws InputError above max_simgrid_endpoints, because the
// number of routes is the square of it.
inline constexpr int max_simgrid_endpoints = 512;
void to_simgrid_xml(const Fabric& fabric, Ecmp ecmp, std::ostream& out);

}  // namespace weft
