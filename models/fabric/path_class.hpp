// What kind of way a message takes: the costs of software and of devices go with it.
#pragma once

#include "models/fabric/fabric.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace weft {

enum class PathClass : std::uint8_t {
  nvlink,   // from GPU to GPU, also through an NVSwitch
  pcie,     // inside a server, within one socket
  sockets,  // inside a server, from socket to socket
  rail,     // over one network switch
  network,  // over several
};
inline constexpr std::array path_classes = {PathClass::nvlink, PathClass::pcie, PathClass::sockets, PathClass::rail, PathClass::network};
inline constexpr std::size_t path_class_count = path_classes.size();
std::string_view name_of(PathClass);

PathClass class_of(const Fabric& fabric, std::span<const Hop> path);

}  // namespace weft
