// In-network all-reduces on the packet network: the agents of collectives/in_network/ at their places.
#pragma once

#include "sim/in_network/in_network.hpp"
#include "sim/network/shared_network.hpp"
#include "sim/packet/packet_network.hpp"

#include <memory>

namespace weft {

class PacketAgents {
 public:
  // Joins the network. `site` and `jobs` must outlive it.
  PacketAgents(const InNetworkSite& site, const std::vector<PlacedAggregation>& jobs, SharedNetwork<PacketNetwork>& network);
  ~PacketAgents();

  OpenJobs& open_jobs();
  // After the run. Throws RunError where a sum is wrong or did not fit.
  InNetworkRun result() const;

 private:
  class Agents;
  std::unique_ptr<Agents> agents_;
};

}  // namespace weft
