// Where datagrams go: along the route of their two ends, along a tree to a group, or along a shortest path.
#include "models/fabric/graph.hpp"
#include "sim/packet/datagram_network.hpp"

#include <algorithm>
#include <limits>

namespace weft {
namespace {

// Of three numbers below 2^21.
std::uint64_t key_of(std::int64_t a, std::int64_t b, std::int64_t c) {
  return static_cast<std::uint64_t>(a) << 42 | static_cast<std::uint64_t>(b) << 21 | static_cast<std::uint64_t>(c);
}

}  // namespace

DatagramNetwork::Branch DatagramNetwork::branch_of(NodeId at, const Datagram& datagram) {
  const Attachment& from = attachment_of(datagram.from);
  const Attachment& to = attachment_of(datagram.to);
  return to.agent ? path(at, from, to) : tree(at, from.node, datagram.to);
}

// The rest of the route between the two, if `at` is on it; else a path from there.
DatagramNetwork::Branch DatagramNetwork::path(NodeId at, const Attachment& from, const Attachment& to) {
  const auto [entry, fresh] = paths_.try_emplace(key_of(at, from.node, to.node));
  if (!fresh) return entry->second;
  std::vector<Hop> hops = path_between(from.node, to.node);
  hops.erase(hops.begin(), std::ranges::find(hops, at, [&](const Hop& hop) { return routes_.fabric().from(hop.link); }));
  if (hops.empty()) hops = path_between(at, to.node);
  return entry->second = {network_.add_hops(hops), 1};
}

// The first endpoint whose cable leads to this switch; -1: none.
int DatagramNetwork::endpoint_below(NodeId at) const {
  const Fabric& fabric = routes_.fabric();
  for (int e = 0; e < fabric.endpoints(); ++e)
    for (const auto& edge : boost::make_iterator_range(boost::out_edges(static_cast<std::size_t>(fabric.port_of(e)), fabric.graph())))
      if (boost::target(edge, fabric.graph()) == static_cast<std::size_t>(at)) return e;
  return -1;
}

// Between endpoints as the fabric routes, and so from or to a switch that has endpoints, as if to the first of them; from or to another, or
// between a switch and what is below it, a shortest path.
std::vector<Hop> DatagramNetwork::path_between(NodeId from, NodeId to) {
  if (from == to) return there_and_back(from);
  const Fabric& fabric = routes_.fabric();
  int a = endpoint_at_[static_cast<std::size_t>(from)], b = endpoint_at_[static_cast<std::size_t>(to)];
  if (a < 0 && b >= 0) a = endpoint_below(from);
  if (b < 0 && a >= 0) b = endpoint_below(to);
  if (a >= 0 && b >= 0 && a != b) {
    const auto hops = routes_.hops(routes_.of(a, b));
    const auto first = std::ranges::find(hops, from, [&](const Hop& hop) { return fabric.from(hop.link); });
    const auto last = std::find_if(first, hops.end(), [&](const Hop& hop) { return fabric.to(hop.link) == to; });
    if (last != hops.end()) return {first, std::next(last)};
  }
  const auto reached = shortest_paths(from, static_cast<std::uint64_t>(to));
  std::vector<Hop> hops;
  for (NodeId node = to; node != from; node = reached[static_cast<std::size_t>(node)].parent) {
    const LinkId link = reached[static_cast<std::size_t>(node)].link;
    check(link >= 0, "no path leads from {} to {}", routes_.fabric().device(from).name, routes_.fabric().device(to).name);
    hops.push_back({link, 0});
  }
  std::ranges::reverse(hops);
  return hops;
}

DatagramNetwork::Branch DatagramNetwork::tree(NodeId at, NodeId root, Address group) {
  const std::uint64_t key = tree_key(at, root, group);
  if (const auto found = trees_.find(key); found != trees_.end()) return found->second;
  if (!trees_.contains(tree_key(root, root, group))) grow_tree(root, group);
  if (const auto found = trees_.find(key); found != trees_.end()) return found->second;
  return trees_[key] = tree(at, at, group);
}

std::uint64_t DatagramNetwork::tree_key(NodeId at, NodeId root, Address group) { return key_of(at, root, group); }

// By node: the hops of the tree that leave it. Each member adds the end of its path, from where the tree has come so far.
std::vector<std::vector<Hop>> DatagramNetwork::tree_hops(NodeId root, Address group) {
  const Fabric& fabric = routes_.fabric();
  std::vector<std::vector<Hop>> leaving(program_at_.size());
  std::vector<bool> reached(program_at_.size(), false);
  reached[static_cast<std::size_t>(root)] = true;
  for (const Address member : attachment_of(group).members) {
    const NodeId end = attachment_of(member).node;
    if (reached[static_cast<std::size_t>(end)] && end != root) continue;  // two members at one endpoint
    const std::vector<Hop> path = path_between(root, end);
    std::size_t first = path.size();
    while (first-- > 0 && !reached[static_cast<std::size_t>(fabric.from(path[first].link))]) continue;
    for (; first < path.size(); ++first) {
      const Hop& hop = path[first];
      auto& out = leaving[static_cast<std::size_t>(fabric.from(hop.link))];
      if (std::ranges::count(out, hop.link, &Hop::link) == 0) out.push_back(hop);
      reached[static_cast<std::size_t>(fabric.to(hop.link))] = true;
    }
  }
  return leaving;
}

// Lays the tree down level by level, the hops that leave one node side by side.
void DatagramNetwork::grow_tree(NodeId root, Address group) {
  const auto leaving = tree_hops(root, group);
  trees_[tree_key(root, root, group)] = {};  // stays so for a group without members
  struct Reached {
    NodeId node;
    std::uint32_t over;
  };
  std::vector<Reached> queue{{root, none}};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const auto [node, over] = queue[i];
    const auto& out = leaving[static_cast<std::size_t>(node)];
    if (out.empty() || (node == root && over != none)) continue;
    const auto count = static_cast<std::uint32_t>(out.size());
    const Branch branch{network_.add_branches(out, over), count};
    trees_[tree_key(node, root, group)] = branch;
    for (std::uint32_t k = 0; k < count; ++k) queue.push_back({routes_.fabric().to(out[k].link), branch.first + k});
  }
}

// By node: from where a shortest path reaches it. Of several equally near a hash chooses.
std::vector<DatagramNetwork::TreeNode> DatagramNetwork::shortest_paths(NodeId root, std::uint64_t salt) const {
  const Fabric& fabric = routes_.fabric();
  const Graph& graph = fabric.graph();
  const auto unreached = std::numeric_limits<int>::max();
  std::vector<TreeNode> reached(boost::num_vertices(graph), {-1, -1});
  std::vector<int> distance(reached.size(), unreached);
  std::vector<int> equals(reached.size(), 0);
  distance[static_cast<std::size_t>(root)] = 0;
  std::vector<NodeId> queue{root};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const NodeId node = queue[i];
    if (node != root && fabric.device(node).kind == DeviceKind::endpoint) continue;  // endpoints do not forward
    for (const auto& edge : boost::make_iterator_range(boost::out_edges(static_cast<std::size_t>(node), graph))) {
      const auto to = boost::target(edge, graph);
      if (distance[to] == unreached) {
        distance[to] = distance[static_cast<std::size_t>(node)] + 1;
        queue.push_back(static_cast<NodeId>(to));
      } else if (distance[to] != distance[static_cast<std::size_t>(node)] + 1) {
        continue;
      }
      // The n-th of equal parents replaces the one so far with a chance of one in n.
      if (hash_of(salt, static_cast<int>(to), static_cast<int>(graph[edge].id)) % static_cast<std::uint64_t>(++equals[to]) == 0)
        reached[to] = {node, graph[edge].id};
    }
  }
  return reached;
}

// Two agents at one endpoint talk over the switch next to it, where their datagrams can be seen.
std::vector<Hop> DatagramNetwork::there_and_back(NodeId node) const {
  const Fabric& fabric = routes_.fabric();
  for (const auto& out : boost::make_iterator_range(boost::out_edges(static_cast<std::size_t>(node), fabric.graph())))
    for (const auto& back : boost::make_iterator_range(boost::out_edges(boost::target(out, fabric.graph()), fabric.graph())))
      if (boost::target(back, fabric.graph()) == static_cast<std::size_t>(node))
        return {{fabric.graph()[out].id, 0}, {fabric.graph()[back].id, 0}};
  check(false, "no cable leads from {} and back", fabric.device(node).name);
  return {};
}

}  // namespace weft
