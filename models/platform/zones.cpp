#include "models/platform/zones.hpp"

#include <algorithm>
#include <limits>
#include <queue>

namespace weft {

int RoutedZone::index_of(PointId end) const {
  const auto found = index_.find(end);
  return found == index_.end() ? -1 : found->second;
}

void RoutedZone::number_points() {
  if (!shortest_) return;
  const auto indexed = [&](PointId end) {
    const auto [found, added] = index_.try_emplace(end, static_cast<int>(points_.size()));
    if (added) points_.push_back(end), edges_.emplace_back();
    return found->second;
  };
  for (const auto& [ends, route] : routes_) {
    const int from = indexed(ends.first), to = indexed(ends.second);
    edges_[static_cast<std::size_t>(from)].push_back({to, route.links.size()});
  }
}

const std::vector<int>& RoutedZone::ways_from(int source) const {
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = before_.try_emplace(source);
  std::vector<int>& before = found->second;
  if (!is_new) return before;
  constexpr std::size_t unreached = std::numeric_limits<std::size_t>::max();
  before.assign(points_.size(), -1);
  std::vector<std::size_t> cost(points_.size(), unreached);
  cost[static_cast<std::size_t>(source)] = 0;
  using Entry = std::pair<std::size_t, std::size_t>;  // cost and point
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  queue.emplace(0, static_cast<std::size_t>(source));
  while (!queue.empty()) {
    const auto [so_far, at] = queue.top();
    queue.pop();
    if (so_far > cost[at]) continue;
    for (const Edge& edge : edges_[at]) {
      const auto to = static_cast<std::size_t>(edge.to);
      if (so_far + edge.cost >= cost[to]) continue;
      cost[to] = so_far + edge.cost;
      before[to] = static_cast<int>(at);
      queue.emplace(cost[to], to);
    }
  }
  return before;
}

std::optional<PlatformRoute> RoutedZone::local_route(const Platform& platform, PointId from, PointId to) const {
  if (!shortest_) {
    const auto found = routes_.find({from, to});
    return found == routes_.end() ? std::nullopt : std::optional(found->second);
  }
  const int source = index_of(from), destination = index_of(to);
  if (source < 0 || destination < 0) return std::nullopt;
  std::vector<const PlatformRoute*> way;
  const std::vector<int>& before = ways_from(source);
  for (int at = destination; at != source;) {
    const int last = before[static_cast<std::size_t>(at)];
    if (last < 0) return std::nullopt;
    way.push_back(&routes_.at({points_[static_cast<std::size_t>(last)], points_[static_cast<std::size_t>(at)]}));
    at = last;
  }
  PlatformRoute out;
  if (way.empty()) return out;
  std::reverse(way.begin(), way.end());
  out.source_gateway = way.front()->source_gateway;
  out.destination_gateway = way.back()->destination_gateway;
  for (std::size_t i = 0; i < way.size(); ++i) {
    // Through a zone on the way: from the gateway into it to the one out of it.
    if (i > 0 && way[i]->source_gateway >= 0 && way[i - 1]->destination_gateway >= 0 &&
        !platform.append_route(way[i - 1]->destination_gateway, way[i]->source_gateway, out.links))
      return std::nullopt;
    out.links.insert(out.links.end(), way[i]->links.begin(), way[i]->links.end());
  }
  return out;
}

std::optional<PlatformRoute> StarZone::local_route(const Platform&, PointId from, PointId to) const {
  PlatformRoute out;
  const auto add = [&](const std::vector<int>& links) {
    for (const int link : links)
      if (std::find(out.links.begin(), out.links.end(), link) == out.links.end()) out.links.push_back(link);
  };
  if (const auto found = arms.find(from); found != arms.end()) add(found->second.up);
  if (const auto found = arms.find(to); found != arms.end()) add(found->second.down);
  return out;
}

std::optional<PlatformRoute> ShapedZone::local_route(const Platform&, PointId from, PointId to) const {
  const auto a = numbers.find(from), b = numbers.find(to);
  PlatformRoute out;
  if (a != numbers.end() && b != numbers.end()) shape->append(a->second, b->second, out.links);
  return out;
}

}  // namespace weft
