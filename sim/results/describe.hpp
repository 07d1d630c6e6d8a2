// A cluster in words, for headers.
#pragma once

#include "sim/scenario/scenario.hpp"

#include <string>

namespace weft {

std::string describe(const FabricSpec&);        // "bigraph, 16 switches x 4 nodes"
std::string describe_links(const FabricSpec&);  // "host_link 100Gbps 500ns, fabric_link 100Gbps 500ns"
// The rate of the endpoint with the slowest connection to the fabric: no bus bandwidth passes it.
BitsPerSecond slowest_endpoint(const FabricSpec&);
std::string describe(const Placement&);  // "random (seed 3)"
std::string describe(const Ecmp&);       // "hash (seed 1)"

}  // namespace weft
