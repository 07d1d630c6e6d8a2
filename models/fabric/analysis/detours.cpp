#include "models/fabric/analysis/detours.hpp"

#include "models/fabric/routes.hpp"

#include <algorithm>
#include <deque>

namespace weft {

Detours::Detours(const Fabric& fabric, Ecmp ecmp)
    : fabric_(fabric),
      ecmp_(ecmp),
      endpoint_at_(static_cast<std::size_t>(fabric.devices()), -1),
      leave_(static_cast<std::size_t>(fabric.devices())),
      down_(static_cast<std::size_t>(fabric.links())) {
  for (int e = 0; e < fabric.endpoints(); ++e) endpoint_at_[static_cast<std::size_t>(fabric.node_of(e))] = e;
  for (LinkId id = 0; id < fabric.links(); ++id)
    if (fabric.between_switches(id)) leave_[static_cast<std::size_t>(fabric.from(id))].push_back(id);
}

void Detours::set_down(const std::vector<LinkId>& down) {
  std::ranges::fill(down_, 0);
  for (const LinkId id : down) down_[static_cast<std::size_t>(id)] = 1;
}

bool Detours::whole(std::span<const LinkId> path) const {
  return std::ranges::none_of(path, [&](LinkId id) { return down_[static_cast<std::size_t>(id)] != 0; });
}

std::vector<LinkId> Detours::around(std::span<const LinkId> path) const {
  const auto own = static_cast<std::size_t>(std::ranges::find_if(path, [&](LinkId id) { return id >= fabric_.links(); }) -
                                            path.begin());  // how many are of the fabric
  const std::span<const LinkId> links = path.first(own);
  const std::vector<LinkId> as_it_is(path.begin(), path.end());
  if (links.empty() || whole(links)) return as_it_is;
  const auto with_rest = [&](std::vector<LinkId> out) {
    for (const LinkId link : path.subspan(own)) out.push_back(link);
    return out;
  };
  if (std::vector<LinkId> other = equal_cost(fabric_.from(links.front()), fabric_.to(links.back())); !other.empty())
    return with_rest(std::move(other));
  std::size_t first = 0, last = links.size();  // of the part between switches
  while (first < last && !is_switch(fabric_.from(links[first]))) ++first;
  while (last > first && !is_switch(fabric_.to(links[last - 1]))) --last;
  if (first == last || !whole(links.first(first)) || !whole(links.subspan(last))) return as_it_is;
  const std::vector<LinkId> between = shortest(fabric_.from(links[first]), fabric_.to(links[last - 1]));
  if (between.empty()) return as_it_is;
  std::vector<LinkId> out(links.begin(), links.begin() + static_cast<std::ptrdiff_t>(first));
  out.insert(out.end(), between.begin(), between.end());
  out.insert(out.end(), links.begin() + static_cast<std::ptrdiff_t>(last), links.end());
  return with_rest(std::move(out));
}

std::vector<LinkId> Detours::equal_cost(NodeId from_node, NodeId to_node) const {
  const int from = endpoint_at_[static_cast<std::size_t>(from_node)], to = endpoint_at_[static_cast<std::size_t>(to_node)];
  if (from < 0 || to < 0 || from == to) return {};
  std::vector<std::vector<LinkId>> left;
  std::vector<Hop> hops;
  for (int choice = 0, choices = fabric_.path_count(from, to); choice < choices; ++choice) {
    hops.clear();
    fabric_.append_path(from, to, choice, hops);
    std::vector<LinkId> path;
    for (const Hop& hop : hops) path.push_back(hop.link);
    if (whole(path)) left.push_back(std::move(path));
  }
  if (left.empty()) return {};
  const auto n = static_cast<std::uint64_t>(left.size());
  return left[ecmp_.policy == EcmpPolicy::d_mod_k ? static_cast<std::uint64_t>(to) % n : hash_of(ecmp_.seed, from, to) % n];
}

std::vector<LinkId> Detours::shortest(NodeId from, NodeId to) const {
  constexpr LinkId unseen = -1;
  std::vector<LinkId> came_by(leave_.size(), unseen);
  std::deque<NodeId> next = {from};
  while (!next.empty() && came_by[static_cast<std::size_t>(to)] == unseen) {
    const NodeId at = next.front();
    next.pop_front();
    for (const LinkId id : leave_[static_cast<std::size_t>(at)]) {
      const NodeId there = fabric_.to(id);
      if (down_[static_cast<std::size_t>(id)] != 0 || there == from || came_by[static_cast<std::size_t>(there)] != unseen) continue;
      came_by[static_cast<std::size_t>(there)] = id;
      next.push_back(there);
    }
  }
  std::vector<LinkId> out;
  for (NodeId at = to; at != from; at = fabric_.from(out.back())) {
    if (came_by[static_cast<std::size_t>(at)] == unseen) return {};
    out.push_back(came_by[static_cast<std::size_t>(at)]);
  }
  std::ranges::reverse(out);
  return out;
}

}  // namespace weft
