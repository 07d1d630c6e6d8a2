// In-network all-reduces on the packet network.
#pragma once

#include "sim/in_network/cluster.hpp"
#include "sim/in_network/in_network.hpp"
#include "sim/packet/settings.hpp"

namespace weft {

// What the two ways of running have in common.
struct InNetworkJob {
  const Fabric& fabric;
  Routes& routes;
  const InNetworkCluster& cluster;
  std::int64_t elements;
  std::span<const SimTime> starts;
  PacketSettings packet = {};
};

InNetworkRun run_atp_agents(const InNetworkJob& job, const AtpChoice& choice, PacketReport& report);
InNetworkRun run_switchml_agents(const InNetworkJob& job, const SwitchmlChoice& choice, PacketReport& report);

}  // namespace weft
