#include "collectives/registry/measured_label.hpp"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace weft {

std::string measured_label(Collective collective, const std::string& algorithm, const AlgorithmSettings& settings) {
  const Algorithm* known = find_algorithm(collective, algorithm);
  if (!known) return algorithm;
  std::vector<std::string> said;
  const auto say = [&](bool takes, const char* name, const auto& value) {
    if (takes) said.push_back(fmt::format("{}={}", name, value));
  };
  say((known->takes_group || known->staggers) && settings.group > 0, "group", settings.group);
  say(known->takes_servers && settings.servers > 1, "servers", settings.servers);
  say(known->takes_servers && settings.server_hosts != ServerHosts::workers, "server_hosts", name_of(settings.server_hosts));
  say(known->takes_inner && !settings.inner.empty(), "inner", settings.inner);
  say(known->takes_inner && !settings.up.empty(), "up", settings.up);
  say(known->takes_inner && !settings.down.empty(), "down", settings.down);
  const bool is_cut = known->can_be_cut && !known->cuts_itself && known->chooses == nullptr;
  say(is_cut && settings.channels > 1, "channels", settings.channels);
  say(is_cut && (settings.pieces > 1 || known->wants_pieces), "pieces", pieces_of(settings));
  return said.empty() ? algorithm : fmt::format("{}({})", algorithm, fmt::join(said, ","));
}

}  // namespace weft
