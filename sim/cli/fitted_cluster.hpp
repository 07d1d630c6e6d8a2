// What a profile says of the cluster that it was fitted to, besides numbers of ranks and servers, in the words that `weft calibrate` writes
// and `weft run` compares.
#pragma once

#include "sim/scenario/scenario.hpp"

#include <optional>
#include <span>
#include <string>
#include <utility>

namespace weft {

// "dgx_h100", or "dgx_h100 with other links: gpu0-nvswitch 800Gbps 0ps" where rates, latencies, host memory or ways are not the preset's.
std::string name_of_links(const Server& server);

// The ways between servers that neighbours among the ranks, and the first rank and all others, are apart.
struct WaysBetweenServers {
  int fewest = 0, most = 0;                                           // network switches of a way
  std::optional<std::pair<BitsPerSecond, BitsPerSecond>> links = {};  // between switches: the slowest and the fastest
  void include(const WaysBetweenServers& other);
};

// Nothing where all ranks are in one server, or the fabric has no place for them. `placement`: the endpoint of each rank; the scenario's
// own of so many ranks.
std::optional<WaysBetweenServers> ways_of_ranks(const Scenario& scenario, std::span<const int> placement);
std::optional<WaysBetweenServers> ways_of_ranks(const Scenario& scenario, int ranks);

}  // namespace weft
