// Link rates as messages see them.
#pragma once

#include "models/fabric/fabric.hpp"
#include "models/hardware.hpp"

#include <vector>

namespace weft {

class FluidNetwork;

// What a link inside a server carries: to and from a socket's memory no more than the cores of a host copy together.
BitsPerSecond capacity_in_server(const Fabric& fabric, LinkId link, const HardwareProfile& hardware);

// In whole bits per second: wire_efficiency x the rate of the link, inside servers its capacity.
std::vector<BitsPerSecond> goodput_of_links(const Fabric& fabric, const HardwareProfile& hardware);

// What links of servers lose while flows cross them both ways.
void lose_two_way(const Fabric& fabric, FluidNetwork& network);

}  // namespace weft
