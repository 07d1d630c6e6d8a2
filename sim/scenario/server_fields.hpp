// The server in a scenario: a preset by name, {"preset": NAME, overrides...}, {"nccl_topology": FILE} or a description.
#pragma once

#include "models/server/host_copies.hpp"
#include "models/server/server.hpp"
#include "sim/json/fields.hpp"

namespace weft {

template <>
struct Names<PeerPolicy> {
  static constexpr const char* kind = "policy";
  static const std::vector<std::pair<PeerPolicy, std::string>>& values();
};
template <>
struct Names<Wiring> {
  static constexpr const char* kind = "wiring";
  static const std::vector<std::pair<Wiring, std::string>>& values();
};
template <>
struct Names<HostProcessor> {
  static constexpr const char* kind = "processor";
  static const std::vector<std::pair<HostProcessor, std::string>>& values();
};
template <>
struct Names<Fabric::Copy> {
  static constexpr const char* kind = "direction";
  static const std::vector<std::pair<Fabric::Copy, std::string>>& values();
};
template <>
struct Declared<PcieLink> {
  static Declaration<PcieLink> declaration();
};
template <>
struct Declared<PeerContention> {
  static Declaration<PeerContention> declaration();
};
template <>
struct Declared<ServerLink> {
  static Declaration<ServerLink> declaration();
};
template <>
struct Declared<Server> {
  static Declaration<Server> declaration();
};
template <>
struct Declared<HostCopies> {
  static Declaration<HostCopies> declaration();
};

struct ServerForm {
  static std::string wanted() { return "the name of a server, or an object with \"preset\", \"nccl_topology\" or \"gpus\""; }
  static Json schema();
  static Json write(const Server&);
  static bool read(const Json&, const JsonPath&, Input&, Server&);
};

}  // namespace weft
