// In-network all-reduces on the packet network.
#pragma once

#include "sim/in_network/cluster.hpp"
#include "sim/in_network/in_network.hpp"
#include "sim/packet/settings.hpp"

namespace weft {

// What the two ways of running have in common.
struct InNetworkCase {
  const Fabric& fabric;
  Routes& routes;
  const std::vector<InNetworkTenant>& tenants;
  std::vector<InNetworkCluster> clusters;  // by tenant
  PacketSettings packet;
  Around around;
};

InNetworkRun run_atp_agents(const InNetworkCase& all, const AtpChoice& choice, PacketReport& report);
InNetworkRun run_switchml_agents(const InNetworkCase& all, const SwitchmlChoice& choice, PacketReport& report);

}  // namespace weft
