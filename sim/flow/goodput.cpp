#include "sim/flow/goodput.hpp"

#include "sim/flow/fluid.hpp"

#include <cmath>

namespace weft {

BitsPerSecond capacity_in_server(const Fabric& fabric, LinkId id, const HardwareProfile& hardware) {
  const BitsPerSecond rate = fabric.link(id).bandwidth;
  const auto is_memory = [&](NodeId device) { return fabric.device(device).kind == DeviceKind::memory; };
  const bool is_shared = hardware.copy_rate_of_socket.count > 0 && (is_memory(fabric.from(id)) || is_memory(fabric.to(id)));
  return is_shared ? std::min(rate, hardware.copy_rate_of_socket) : rate;
}

std::vector<BitsPerSecond> goodput_of_links(const Fabric& fabric, const HardwareProfile& hardware) {
  std::vector<BitsPerSecond> rates;
  rates.reserve(static_cast<std::size_t>(fabric.links()));
  for (LinkId id = 0; id < fabric.links(); ++id) {
    const Link& link = fabric.link(id);
    rates.push_back(link.in_server ? capacity_in_server(fabric, id, hardware)
                                   : BitsPerSecond{std::llround(static_cast<double>(link.bandwidth.count) * hardware.wire_efficiency)});
  }
  return rates;
}

void lose_two_way(const Fabric& fabric, FluidNetwork& network) {
  for (LinkId id = 0; id < fabric.links(); ++id)
    if (const TwoWayLoad& load = fabric.link(id).two_way; load.loses()) network.lose_two_way(id, load);
}

}  // namespace weft
