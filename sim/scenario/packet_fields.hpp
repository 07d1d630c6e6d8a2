// The key "packet": settings of the packet network (sim/packet/settings.hpp).
#pragma once

#include "sim/json/fields.hpp"
#include "sim/packet/settings.hpp"

namespace weft {

template <>
struct Names<Switching> {
  static constexpr const char* kind = "switching";
  static const std::vector<std::pair<Switching, std::string>>& values();
};
template <>
struct Names<PacketTransport> {
  static constexpr const char* kind = "transport";
  static const std::vector<std::pair<PacketTransport, std::string>>& values();
};
template <>
struct Declared<EcnSettings> {
  static Declaration<EcnSettings> declaration();
};
template <>
struct Declared<PfcSettings> {
  static Declaration<PfcSettings> declaration();
};
template <>
struct Declared<DcqcnSettings> {
  static Declaration<DcqcnSettings> declaration();
};
template <>
struct Declared<LinkFailure> {
  static Declaration<LinkFailure> declaration();
};
template <>
struct Declared<FaultSettings> {
  static Declaration<FaultSettings> declaration();
};
template <>
struct Declared<PacketSettings> {
  static Declaration<PacketSettings> declaration();
};

}  // namespace weft
