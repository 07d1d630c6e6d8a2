#include "models/fabric/drawing/oversubscription.hpp"

#include <vector>

namespace weft {

std::optional<Oversubscription> most_oversubscribed(const Fabric& fabric) {
  struct Ports {
    int down = 0, up = 0;
    double down_rate = 0, up_rate = 0;
  };
  const auto is_switch = [&](NodeId node) { return fabric.device(node).kind == DeviceKind::network_switch; };
  std::vector<Ports> ports(static_cast<std::size_t>(fabric.devices()));
  for (LinkId id = 0; id < fabric.links(); ++id) {
    const auto rate = static_cast<double>(fabric.link(id).bandwidth.count);
    if (fabric.between_switches(id)) {
      Ports& own = ports[static_cast<std::size_t>(fabric.from(id))];
      ++own.up, own.up_rate += rate;
    } else if (is_switch(fabric.to(id)) && !is_switch(fabric.from(id))) {
      Ports& own = ports[static_cast<std::size_t>(fabric.to(id))];
      ++own.down, own.down_rate += rate;
    }
  }
  std::optional<Oversubscription> worst;
  for (std::size_t node = 0; node < ports.size(); ++node) {
    const Ports& own = ports[node];
    if (own.down == 0 || own.up == 0) continue;
    const double ratio = own.down_rate / own.up_rate;
    if (!worst || ratio > worst->ratio)
      worst = {.name = fabric.device(static_cast<NodeId>(node)).name, .down = own.down, .up = own.up, .ratio = ratio};
  }
  return worst;
}

}  // namespace weft
