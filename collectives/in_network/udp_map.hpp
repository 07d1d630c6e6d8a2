// Which process an agent is in and the way there: workers and servers hang below switches, and switches reach each other directly.
#pragma once

#include "collectives/in_network/deployment.hpp"

#include <span>
#include <string>
#include <vector>

namespace weft {

// The processes of an in-network all-reduce, called nodes: the workers first, then the servers, then the switches.
struct UdpLayout {
  int workers = 2;
  int servers = 1;
  int switches = 1;
  std::vector<int> below = {};    // the switch that each worker, then each server, hangs below; none: see at()
  std::vector<int> passing = {};  // switches that only pass on; the others add

  int nodes() const { return workers + servers + switches; }
  int server_node(int server) const { return workers + server; }
  int switch_node(int at) const { return workers + servers + at; }
  bool is_worker(int node) const { return node < workers; }
  bool is_switch(int node) const { return node >= workers + servers; }
  // The switch that a worker or server hangs below, from 0; where it is not said, workers do in blocks and servers one at each
  // switch in turn. Of a switch itself.
  int at(int node) const;
  std::vector<int> adding() const;   // the switches that do
  std::string name(int node) const;  // "worker 0", "server 0", "switch 0"
  std::vector<std::string> names() const;
};

// By address: the node of an agent, or the members of a group.
struct UdpMap {
  UdpLayout layout = {};
  std::vector<int> node_of = {};                   // -1: a group, or nobody
  std::vector<std::vector<Address>> members = {};  // of groups

  void attach(Address address, int node);
  void group(Address address, std::vector<Address> of);
};

// The map of one message. Switches of the deployment go by their numbers in the layout.
UdpMap udp_map(const UdpLayout& layout, const InNetworkDeployment& deployment);

// What one node does with datagrams.
class UdpRoutes {
 public:
  UdpRoutes(const UdpMap& map, int node);

  // Both known, `from` an agent.
  bool known(Address from, Address to) const;
  // The nodes to send to.
  std::span<const int> next(Address from, Address to) const;
  // The agents of this node, which is no switch, that it is for.
  std::span<const Address> here(Address to) const { return here_[static_cast<std::size_t>(to)]; }

 private:
  struct Branches {
    std::vector<int> at_root = {};    // where the sender's own switch is this node
    std::vector<int> elsewhere = {};  // at the other switches: what is below
  };
  UdpMap map_;
  int node_;
  std::vector<Branches> branches_;  // by address
  std::vector<std::vector<Address>> here_;
};

}  // namespace weft
