#include "models/fabric/switch_tree.hpp"

#include "kernels/base/error.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace weft {
namespace {

// The links of one direction, endpoint by endpoint.
class Branches {
 public:
  explicit Branches(const Fabric& fabric) : fabric_(fabric) {}

  // `path`: from the endpoint on, where `far` tells the end of a link that is away from it. Adds what is its own to `hops`; the latency to
  // the root.
  template <class Far>
  SimTime add(std::span<const Hop> path, Far far, std::vector<Hop>& hops) {
    SimTime latency, to_root;
    std::size_t own = 0, last = 0;  // hops
    std::vector<NodeId> passed;
    for (std::size_t i = 0; i < path.size(); ++i) {
      latency += fabric_.link(path[i].link).latency;
      const NodeId node = far(path[i].link);
      if (fabric_.device(node).kind != DeviceKind::network_switch) continue;
      last = i + 1, to_root = latency;
      if (own == 0) passed.push_back(node);
      if (own == 0 && (nodes_.empty() || nodes_.contains(node))) own = i + 1;
      if (nodes_.empty()) break;
    }
    if (own == 0) own = last;
    nodes_.insert(passed.begin(), passed.end());
    hops.insert(hops.end(), path.begin(), path.begin() + static_cast<std::ptrdiff_t>(own));
    return to_root;
  }

 private:
  const Fabric& fabric_;
  std::set<NodeId> nodes_;  // switches of the tree so far
};

std::vector<Hop> path_between(const Fabric& fabric, int from, int to, int number) {
  std::vector<Hop> path;
  fabric.append_path(from, to, number % fabric.path_count(from, to), path);
  return path;
}

}  // namespace

SwitchTree switch_tree(const Fabric& fabric, std::span<const int> endpoints, int number) {
  check(endpoints.size() >= 2, "a tree of switches between {} endpoints", endpoints.size());
  SwitchTree tree;
  Branches up(fabric), down(fabric);
  PathClass widest{};
  for (const int endpoint : endpoints) {
    const int other = endpoint == endpoints.front() ? endpoints.back() : endpoints.front();
    const std::vector<Hop> there = path_between(fabric, endpoint, other, number);
    std::vector<Hop> back = path_between(fabric, other, endpoint, number);
    std::ranges::reverse(back);
    widest = std::max(widest, class_of(fabric, there));
    SwitchTree::Way way{.terms = fabric.terms(endpoint, other)};
    way.up = up.add(
        there, [&](LinkId link) { return fabric.to(link); }, way.hops);
    way.down = down.add(
        back, [&](LinkId link) { return fabric.from(link); }, way.hops);
    const auto name = [&](int e) { return fabric.device(fabric.node_of(e)).name; };
    if (way.hops.empty())
      throw InputError(fmt::format("no switch lies between {} and {}, which could add what they send", name(endpoint), name(other)));
    tree.ways.emplace(endpoint, std::move(way));
  }
  for (auto& [endpoint, way] : tree.ways) way.path_class = widest;
  return tree;
}

}  // namespace weft
