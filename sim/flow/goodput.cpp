#include "sim/flow/goodput.hpp"

#include "sim/flow/fluid.hpp"

#include <cmath>

namespace weft {

std::vector<BitsPerSecond> goodput_of_links(const Fabric& fabric, const HardwareProfile& hardware) {
  std::vector<BitsPerSecond> rates;
  rates.reserve(static_cast<std::size_t>(fabric.links()));
  for (LinkId id = 0; id < fabric.links(); ++id) {
    const Link& link = fabric.link(id);
    const double efficiency = link.in_server ? 1.0 : hardware.wire_efficiency;
    rates.push_back({std::llround(static_cast<double>(link.bandwidth.count) * efficiency)});
  }
  return rates;
}

void lose_two_way(const Fabric& fabric, FluidNetwork& network) {
  for (LinkId id = 0; id < fabric.links(); ++id)
    if (const TwoWayLoad& load = fabric.link(id).two_way; load.loses()) network.lose_two_way(id, load);
}

}  // namespace weft
