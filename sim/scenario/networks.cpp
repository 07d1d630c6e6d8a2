#include "sim/scenario/scenario.hpp"

#include <fmt/format.h>

namespace weft {

const std::vector<NetworkKind>& available_networks() {
  static const std::vector<NetworkKind> all = {
    NetworkKind::flow,
    NetworkKind::packet,
    NetworkKind::simgrid,
#if WEFT_HAS_NS3
    NetworkKind::ns3
#endif
  };
  return all;
}

std::string label(const AlgorithmChoice& choice) {
  std::string settings;
  const auto add = [&](const char* name, int value, int unless) {
    if (value != unless) settings += fmt::format("{}{}={}", settings.empty() ? "" : ",", name, value);
  };
  const AlgorithmSettings plain;
  add("group", choice.settings.group, plain.group);
  add("servers", choice.settings.servers, plain.servers);
  add("channels", choice.settings.channels, plain.channels);
  add("pieces", choice.settings.pieces, plain.pieces);
  return settings.empty() ? choice.name : fmt::format("{}({})", choice.name, settings);
}

}  // namespace weft
