// Link rates as messages see them.
#pragma once

#include "models/fabric/fabric.hpp"
#include "models/hardware.hpp"

#include <vector>

namespace weft {

class FluidNetwork;

// In whole bits per second: wire_efficiency x the rate of the link, and inside servers the rate itself.
std::vector<BitsPerSecond> goodput_of_links(const Fabric& fabric, const HardwareProfile& hardware);

// What links of servers lose while flows cross them both ways.
void lose_two_way(const Fabric& fabric, FluidNetwork& network);

}  // namespace weft
