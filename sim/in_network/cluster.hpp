// Where the parts of an in-network all-reduce sit on a fabric.
#pragma once

#include "models/fabric/fabric.hpp"
#include "models/fabric/routes.hpp"
#include "sim/in_network/in_network.hpp"

#include <cstdint>
#include <vector>

namespace weft {

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
  std::vector<int> worker_switches() const;  // by worker
  bool has_endpoints(NodeId at) const { return endpoint_below(at) >= 0; }

  // Where it is not said, servers are on endpoints without a worker first, then evenly among the workers. How many, where it is
  // not said either: one if there is an endpoint without a worker, else one for each worker, at most max_default_servers.
  std::vector<int> servers(const AtpSettings& settings) const;

  // Also between agents of one endpoint, which meet at their switch.
  std::vector<Hop> path(int from, int to, Routes& routes) const;
  // To and from a switch with endpoints.
  std::vector<Hop> path_to_switch(int from, NodeId to, Routes& routes) const;
  std::vector<Hop> path_from_switch(NodeId from, int to, Routes& routes) const;

 private:
  int endpoint_below(NodeId at) const;
  std::vector<int> chosen_servers(int count) const;

  const Fabric& fabric_;
  std::vector<int> workers_, others_;
  int number_;
  std::vector<LinkId> up_, down_;  // by endpoint
};

// One packet, stored and sent on at every hop.
SimTime one_way(std::span<const Hop> path, const Fabric& fabric, Bytes packet);

// In the programs of the switches that the path passes.
SimTime in_programs(std::span<const Hop> path, const Fabric& fabric, const std::vector<NodeId>& programmable, SimTime delay);

// How long a packet of ATP takes to its server and its parameters back, at most: in switches with aggregators and between them and
// the server, and from the worker to its switch and back.
struct AtpRoundTrip {
  SimTime held = {}, elsewhere = {};
  double packets = 0;  // that fit into it, of the slowest worker
};
AtpRoundTrip atp_round_trip(const InNetworkCluster& cluster, std::span<const int> servers, const InNetworkSite& site, Bytes packet);

// Of each job: the endpoints of the others are left to them as far as possible.
std::vector<InNetworkCluster> clusters_of(const InNetworkSite& site, const std::vector<PlacedAggregation>& jobs);

// A job on the fabric: its settings with what follows from there, and the switches and servers it uses.
struct PlacedTask {
  InNetworkTask task;
  std::vector<int> servers;  // the endpoint of each
};
PlacedTask place_task(const InNetworkCluster& cluster, const InNetworkSite& site, const InNetworkSettings& settings);
std::vector<PlacedTask> place_tasks(const std::vector<InNetworkCluster>& clusters, const InNetworkSite& site,
                                    const std::vector<PlacedAggregation>& jobs);

// The link between switches that most flows of the job cross, gradients up or parameters down: what is added up is one flow from there on,
// and what is multicast one up to where it is copied.
BusiestLink busiest_between_switches(const InNetworkCluster& cluster, const PlacedTask& placed, const InNetworkSite& site);

// What agents know of the tasks.
std::vector<InNetworkTask> tasks_of(const std::vector<PlacedTask>& placed);

}  // namespace weft
