#include "collectives/in_network/udp_map.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace weft {
namespace {

void add_once(std::vector<int>& to, int one) {
  if (std::ranges::find(to, one) == to.end()) to.push_back(one);
}

}  // namespace

int UdpLayout::at(int node) const {
  if (!is_switch(node) && !below.empty()) return below[static_cast<std::size_t>(node)];
  if (is_worker(node)) return static_cast<int>(std::int64_t{node} * switches / workers);
  return is_switch(node) ? node - switch_node(0) : (node - workers) % switches;
}

std::vector<int> UdpLayout::adding() const {
  std::vector<int> out;
  for (int at = 0; at < switches; ++at)
    if (std::ranges::find(passing, at) == passing.end()) out.push_back(at);
  return out;
}

std::string UdpLayout::name(int node) const {
  if (is_worker(node)) return fmt::format("worker {}", node);
  return is_switch(node) ? fmt::format("switch {}", node - switch_node(0)) : fmt::format("server {}", node - workers);
}

std::vector<std::string> UdpLayout::names() const {
  std::vector<std::string> out;
  for (int node = 0; node < nodes(); ++node) out.push_back(name(node));
  return out;
}

void UdpMap::attach(Address address, int node) {
  const auto i = static_cast<std::size_t>(address);
  if (i >= node_of.size()) node_of.resize(i + 1, -1), members.resize(i + 1);
  node_of[i] = node;
}

void UdpMap::group(Address address, std::vector<Address> of) {
  attach(address, -1);
  members[static_cast<std::size_t>(address)] = std::move(of);
}

UdpMap udp_map(const UdpLayout& layout, const InNetworkDeployment& deployment) {
  using Role = InNetworkDeployment::Role;
  UdpMap out{.layout = layout};
  for (const InNetworkDeployment::Seat& seat : deployment.seats)
    out.attach(seat.self, seat.role == Role::worker   ? seat.number
                          : seat.role == Role::server ? layout.server_node(seat.number)
                                                      : layout.switch_node(seat.at));
  for (const InNetworkDeployment::Group& group : deployment.groups) out.group(group.self, group.members);
  return out;
}

UdpRoutes::UdpRoutes(const UdpMap& map, int node) : map_(map), node_(node), branches_(map.node_of.size()), here_(map.node_of.size()) {
  const UdpLayout& layout = map.layout;
  const int own_switch = layout.switch_node(layout.at(node));
  for (std::size_t to = 0; to < branches_.size(); ++to) {
    std::vector<Address> agents = map.members[to];
    if (map.node_of[to] >= 0) agents = {static_cast<Address>(to)};
    Branches& b = branches_[to];
    for (const Address a : agents) {
      const int there = map.node_of[static_cast<std::size_t>(a)];
      if (there == node && !layout.is_switch(node)) here_[to].push_back(a);
      const int their_switch = layout.switch_node(layout.at(there));
      if (!layout.is_switch(node)) {
        add_once(b.at_root, own_switch);
      } else if (their_switch != node) {
        add_once(b.at_root, their_switch);
      } else if (there != node) {
        add_once(b.at_root, there);
        add_once(b.elsewhere, there);
      }
    }
    // One receiver is on the way wherever the datagram is; the copies of a group part at the root.
    if (map.node_of[to] >= 0) b.elsewhere = b.at_root;
  }
}

bool UdpRoutes::known(Address from, Address to) const {
  const auto size = static_cast<Address>(branches_.size());
  if (from < 0 || from >= size || to < 0 || to >= size) return false;
  const auto f = static_cast<std::size_t>(from), t = static_cast<std::size_t>(to);
  return map_.node_of[f] >= 0 && (map_.node_of[t] >= 0 || !map_.members[t].empty());
}

std::span<const int> UdpRoutes::next(Address from, Address to) const {
  const UdpLayout& layout = map_.layout;
  const int root = layout.switch_node(layout.at(map_.node_of[static_cast<std::size_t>(from)]));
  const Branches& b = branches_[static_cast<std::size_t>(to)];
  return root == node_ || !layout.is_switch(node_) ? b.at_root : b.elsewhere;
}

}  // namespace weft
