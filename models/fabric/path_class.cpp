#include "models/fabric/path_class.hpp"

namespace weft {

std::string_view name_of(PathClass c) {
  switch (c) {
    case PathClass::nvlink:
      return "nvlink";
    case PathClass::cache:
      return "cache";
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

LinkKind kind_of(const Fabric& fabric, LinkId link) {
  const Link& l = fabric.link(link);
  return {.bandwidth = l.bandwidth,
          .latency = l.latency,
          .from = fabric.device(fabric.from(link)).kind,
          .to = fabric.device(fabric.to(link)).kind,
          .in_server = l.in_server};
}

void PathClassifier::go_over(const LinkKind& link) {
  leaves_server_ |= !link.in_server;
  switches_ += link.to == DeviceKind::network_switch ? 1 : 0;
  over_cache_ |= link.to == DeviceKind::cache;
  over_pcie_ |= link.to == DeviceKind::socket || link.to == DeviceKind::pcie_switch;
  between_sockets_ |= link.from == DeviceKind::socket && link.to == DeviceKind::socket;
}

PathClass PathClassifier::result() const {
  if (leaves_server_) return switches_ > 1 ? PathClass::network : PathClass::rail;
  if (between_sockets_) return PathClass::sockets;
  if (over_pcie_) return PathClass::pcie;
  return over_cache_ ? PathClass::cache : PathClass::nvlink;
}

PathClass class_of(const Fabric& fabric, std::span<const Hop> path) {
  PathClassifier way;
  for (const Hop& hop : path) way.go_over(kind_of(fabric, hop.link));
  return way.result();
}

}  // namespace weft
