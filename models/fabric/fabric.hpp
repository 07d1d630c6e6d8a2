// The cluster as one directed multigraph of devices and links, and the paths that its routing allows.
#pragma once

#include "kernels/base/units.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace weft {

using NodeId = std::int32_t;  // a device: an endpoint, a switch
using LinkId = std::int32_t;  // one direction of a cable, or of a link inside a server

enum class DeviceKind { endpoint, network_switch, nic, socket, memory, pcie_switch, nvswitch, cache };

struct Device {
  std::string name;  // a path: "upper3/node1", "leaf0", "spine2"
  DeviceKind kind = DeviceKind::endpoint;
};

// What a link loses under load: while flows cross it and its opposite, n of both together, it gives rate / n, and at most `duplex`,
// instead of its bandwidth where that is less.
struct TwoWayLoad {
  LinkId opposite = -1;
  BitsPerSecond rate{0};    // 0: nothing is lost
  BitsPerSecond duplex{0};  // 0: nothing is lost
  bool loses() const { return rate.count > 0 || duplex.count > 0; }
  bool depends_on_flows() const { return rate.count > 0; }
  friend bool operator==(const TwoWayLoad&, const TwoWayLoad&) = default;
};

struct Link {
  LinkId id = 0;
  BitsPerSecond bandwidth;
  SimTime latency;
  // Inside a server: its bandwidth is what messages get of it. Other links are wires, of which they get wire_efficiency.
  bool in_server = false;
  TwoWayLoad two_way = {};
  bool is_lane = false;  // what traffic of one kind gets under load of the link before it, which has the rate that devices are told
};

// Link bandwidth and latency as a scenario gives them.
struct LinkSpec {
  BitsPerSecond bandwidth;
  SimTime latency;
  friend bool operator==(const LinkSpec&, const LinkSpec&) = default;
};

// One hop of a path: a link, and the priority (virtual channel) the message has on it.
struct Hop {
  LinkId link = 0;
  int priority = 0;
  friend bool operator==(const Hop&, const Hop&) = default;
};

// What a flow may terms of the links that it shares.
struct FlowTerms {
  double weight = 1;          // flows with one bottleneck share it in proportion to their weights
  BitsPerSecond rate_cap{0};  // the most that one flow gets; 0: what its links give
  friend bool operator==(const FlowTerms&, const FlowTerms&) = default;
};

// What one flow gets of a link at most, however idle the link is.
struct FlowCap {
  LinkId link = 0;
  BitsPerSecond rate{};
};

// The rate cap that these make; 0: none.
BitsPerSecond least_of(const std::vector<FlowCap>& caps);

struct Graph;  // graph.hpp

// A built fabric. Endpoints are the places ranks can sit on, numbered 0..endpoints()-1 in the order that "linear"
// placement uses; each is a node of the graph.
class Fabric {
 public:
  virtual ~Fabric();

  const Graph& graph() const { return *graph_; }
  int devices() const;
  int endpoints() const { return static_cast<int>(endpoint_nodes_.size()); }
  int links() const { return static_cast<int>(ends_.size()); }
  NodeId node_of(int endpoint) const { return endpoint_nodes_[static_cast<std::size_t>(endpoint)]; }
  const Link& link(LinkId id) const { return ends_[static_cast<std::size_t>(id)].link; }
  NodeId from(LinkId id) const { return ends_[static_cast<std::size_t>(id)].from; }
  NodeId to(LinkId id) const { return ends_[static_cast<std::size_t>(id)].to; }
  const Device& device(NodeId id) const;
  bool between_switches(LinkId id) const;
  std::string link_name(LinkId id) const;  // "leaf0->spine2"; parallel cables get "#2", "#3"
  int priorities() const { return priorities_; }

  // How many equal-cost paths lead from one endpoint to another (at least 1 for different endpoints), and the
  // `choice`-th of them, appended to `path`. Endpoints must differ. Endpoints do not forward, and what a path does between
  // switches depends only on the ports of its two ends.
  virtual int path_count(int from, int to) const = 0;
  virtual void append_path(int from, int to, int choice, std::vector<Hop>& path) const = 0;

  // What messages from one endpoint to another terms.
  virtual FlowTerms terms(int from, int to) const;
  // The links that cap such a message's rate, appended to `caps`: their rate cap is the least of their rates.
  virtual void append_caps(int from, int to, std::vector<FlowCap>& caps) const;

  // The device by which the endpoint hangs on the fabric's switches: itself, or the NIC that it uses in its server.
  virtual NodeId port_of(int endpoint) const { return node_of(endpoint); }

  // Copies between an endpoint and the host memory next to it; false where there is no such memory.
  enum class Copy { to_endpoint, to_host };
  virtual bool append_copy_path(int endpoint, Copy direction, std::vector<Hop>& path) const;
  virtual FlowTerms copy_terms(int endpoint) const;

 protected:
  Fabric();

  NodeId add_switch(std::string name);
  NodeId add_endpoint(std::string name);
  NodeId add_device(Device device);                                                              // of any kind but endpoint
  LinkId add_link(NodeId from, NodeId to, LinkSpec spec);                                        // one direction
  LinkId add_server_link(NodeId from, NodeId to, LinkSpec spec, TwoWayLoad load, bool is_lane);  // one direction, inside a server
  LinkId add_cable(NodeId a, NodeId b, LinkSpec spec);  // both: a->b is the returned id, b->a the next

  // The next endpoint, on its cable. Where all endpoints come before any other cable, the links of endpoint e are
  // up_link(e) and down_link(e).
  void add_endpoint_on(NodeId at, std::string name, LinkSpec spec) { add_cable(add_endpoint(std::move(name)), at, spec); }
  static LinkId up_link(int endpoint) { return 2 * endpoint; }
  static LinkId down_link(int endpoint) { return 2 * endpoint + 1; }

  int priorities_ = 1;

 private:
  LinkId add_edge(NodeId from, NodeId to, Link link);

  std::unique_ptr<Graph> graph_;
  std::vector<NodeId> endpoint_nodes_;
  // By link: what the graph knows of its edge, without a walk to it.
  struct Ends {
    NodeId from, to;
    Link link;
  };
  std::vector<Ends> ends_;
};

// Which of the equal-cost paths a pair uses.
enum class EcmpPolicy {
  hash,          // a seeded hash of (source, destination)
  d_mod_k,       // destination mod the number of paths (Zahavi 2012): no collisions for shifts on a fat-tree
  least_loaded,  // in the order of first use, each pair to the path whose busiest link between switches has fewest flows in that step, and
                 // of several such to the one with fewest routes of other schedules
};
struct Ecmp {
  EcmpPolicy policy = EcmpPolicy::hash;
  std::uint64_t seed = 1;
  friend bool operator==(const Ecmp&, const Ecmp&) = default;
};

}  // namespace weft
