// What kind of way a message takes: the costs of software and of devices go with it.
#pragma once

#include "models/fabric/fabric.hpp"

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace weft {

enum class PathClass : std::uint8_t {
  nvlink,   // from GPU to GPU, also through an NVSwitch
  cache,    // between the cores of a host that share a last level of cache
  pcie,     // inside a server, within one socket
  sockets,  // inside a server, from socket to socket
  rail,     // over one network switch
  network,  // over several
};
inline constexpr std::array path_classes = {PathClass::nvlink,  PathClass::cache, PathClass::pcie,
                                            PathClass::sockets, PathClass::rail,  PathClass::network};
inline constexpr std::size_t path_class_count = path_classes.size();
constexpr bool leaves_server(PathClass c) { return c == PathClass::rail || c == PathClass::network; }

std::string_view name_of(PathClass);

PathClass class_of(const Fabric& fabric, std::span<const Hop> path);

// What a link is to those who go over it. A fabric of many links has few kinds of them.
struct LinkKind {
  BitsPerSecond bandwidth;
  SimTime latency;
  DeviceKind from = {}, to = {};
  bool in_server = false;
  friend auto operator<=>(const LinkKind&, const LinkKind&) = default;
};
LinkKind kind_of(const Fabric& fabric, LinkId link);

// Follows a path, link by link.
class PathClassifier {
 public:
  void go_over(const LinkKind& link);
  PathClass result() const;

 private:
  int switches_ = 0;
  bool leaves_server_ = false, over_cache_ = false, over_pcie_ = false, between_sockets_ = false;
};

}  // namespace weft
