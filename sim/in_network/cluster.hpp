// Where the parts of an in-network all-reduce sit on a fabric.
#pragma once

#include "models/fabric.hpp"
#include "models/routes.hpp"
#include "sim/scenario/scenario.hpp"

#include <cstdint>
#include <vector>

namespace weft {

// One parameter server's part of the message.
struct ServerShare {
  int endpoint = 0;
  std::int64_t first_value = 0, values = 0;
};

// By link, as it is: headers are part of what agents send.
std::vector<BitsPerSecond> link_rates(const Fabric& fabric);

class InNetworkCluster {
 public:
  // `others`: endpoints of other jobs' workers. Jobs with different numbers prefer different endpoints for their servers.
  InNetworkCluster(const Fabric& fabric, std::vector<int> workers, std::vector<int> others = {}, int number = 0);

  const std::vector<int>& workers() const { return workers_; }
  NodeId edge_switch(int endpoint) const { return fabric_.to(up_link(endpoint)); }
  LinkId up_link(int endpoint) const { return up_[static_cast<std::size_t>(endpoint)]; }
  LinkId down_link(int endpoint) const { return down_[static_cast<std::size_t>(endpoint)]; }
  std::vector<NodeId> edge_switches() const;  // of the workers, each once, in order of their numbers

  // `count` servers for so many values: on endpoints without a worker first, then evenly among the workers. 0: one if there
  // is an endpoint without a worker, else one for each worker, at most most_default_servers.
  std::vector<ServerShare> servers(int count, std::int64_t values) const;

  // Also between agents of one endpoint, which meet at their switch.
  std::vector<Hop> path(int from, int to, Routes& routes) const;

 private:
  const Fabric& fabric_;
  std::vector<int> workers_, others_;
  int number_;
  std::vector<LinkId> up_, down_;  // by endpoint
};

}  // namespace weft
