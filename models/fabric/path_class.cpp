#include "models/fabric/path_class.hpp"

namespace weft {

std::string_view name_of(PathClass c) {
  switch (c) {
    case PathClass::nvlink:
      return "nvlink";
    case PathClass::pcie:
      return "pcie";
    case PathClass::sockets:
      return "sockets";
    case PathClass::rail:
      return "rail";
    case PathClass::network:
      return "network";
  }
  return "";
}

PathClass class_of(const Fabric& fabric, std::span<const Hop> path) {
  int switches = 0;
  bool leaves_server = false, over_pcie = false, between_sockets = false;
  bool from_socket = !path.empty() && fabric.device(fabric.from(path.front().link)).kind == DeviceKind::socket;
  for (const Hop& hop : path) {
    const DeviceKind to = fabric.device(fabric.to(hop.link)).kind;
    leaves_server |= !fabric.link(hop.link).in_server;
    switches += to == DeviceKind::network_switch ? 1 : 0;
    over_pcie |= to == DeviceKind::socket || to == DeviceKind::pcie_switch;
    between_sockets |= from_socket && to == DeviceKind::socket;
    from_socket = to == DeviceKind::socket;
  }
  if (leaves_server) return switches > 1 ? PathClass::network : PathClass::rail;
  if (between_sockets) return PathClass::sockets;
  return over_pcie ? PathClass::pcie : PathClass::nvlink;
}

}  // namespace weft
