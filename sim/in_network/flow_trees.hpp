// In-network all-reduces on the flow network: an aggregation tree and a multicast tree are single flows. Left out: slow start,
// queues, losses and retransmissions.
#pragma once

#include "sim/flow/fluid.hpp"
#include "sim/in_network/in_network.hpp"
#include "sim/network/shared_network.hpp"

#include <memory>

namespace weft {

class FlowTrees {
 public:
  // Joins the network. `site` and `jobs` must outlive it.
  FlowTrees(const InNetworkSite& site, const std::vector<PlacedAggregation>& jobs, SharedNetwork<FluidNetwork>& network);
  ~FlowTrees();

  OpenJobs& open_jobs();
  // After the run.
  InNetworkRun result() const;

 private:
  class Flows;
  std::unique_ptr<Flows> flows_;
};

}  // namespace weft
