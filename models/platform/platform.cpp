#include "models/platform/platform.hpp"

#include <algorithm>
#include <set>

namespace weft {

std::vector<int> Platform::zones_around(PointId point) const {
  std::vector<int> out;
  for (int zone = points[static_cast<std::size_t>(point)].zone; zone >= 0; zone = zones[static_cast<std::size_t>(zone)]->parent)
    out.push_back(zone);
  return out;
}

// As SimGrid looks for it: from the innermost zones of both ends outwards.
const PlatformRoute* Platform::bypass(const PlatformZone& zone, const std::vector<int>& source, const std::vector<int>& destination,
                                      std::pair<PointId, PointId>& key) const {
  const auto look = [&](std::size_t s, std::size_t d) -> const PlatformRoute* {
    if (s >= source.size() || d >= destination.size()) return nullptr;
    key = {zones[static_cast<std::size_t>(source[s])]->point, zones[static_cast<std::size_t>(destination[d])]->point};
    const auto found = zone.bypasses.find(key);
    return found == zone.bypasses.end() ? nullptr : &found->second;
  };
  for (std::size_t most = 0; most < std::max(source.size(), destination.size()); ++most) {
    for (std::size_t i = 0; i < most; ++i) {
      if (const auto* found = look(i, most)) return found;
      if (const auto* found = look(most, i)) return found;
    }
    if (const auto* found = look(most, most)) return found;
  }
  return nullptr;
}

// To the gateway of the route, along it, and from its other gateway on.
bool Platform::append_parts(const std::pair<PointId, PointId>& ends, PlatformRoute route, std::pair<bool, bool> outside,
                            std::vector<int>& out, int depth) const {
  const auto [from, to] = ends;
  if (outside.first && (route.source_gateway < 0 || !append_route(from, route.source_gateway, out, depth + 1))) return false;
  out.insert(out.end(), route.links.begin(), route.links.end());
  return !outside.second || (route.destination_gateway >= 0 && append_route(route.destination_gateway, to, out, depth + 1));
}

bool Platform::append_route(PointId from, PointId to, std::vector<int>& out, int depth) const {
  constexpr int deepest = 64;  // gateways that lead to one another
  if (from == to) return true;
  if (depth > deepest) return false;
  std::vector<int> source = zones_around(from), destination = zones_around(to);
  int common = -1;
  while (!source.empty() && !destination.empty() && source.back() == destination.back()) {
    common = source.back();
    source.pop_back();
    destination.pop_back();
  }
  if (common < 0) return false;
  const PlatformZone& zone = *zones[static_cast<std::size_t>(common)];
  if (!zone.bypasses.empty()) {
    if (source.empty() && destination.empty()) {
      if (const auto found = zone.bypasses.find({from, to}); found != zone.bypasses.end())
        return append_parts({from, to}, found->second, {false, false}, out, depth);
    } else {
      std::pair<PointId, PointId> key;
      if (const PlatformRoute* found = bypass(zone, source, destination, key))
        return append_parts({from, to}, *found, {from != key.first, to != key.second}, out, depth);
    }
  }
  const PointId a = source.empty() ? from : zones[static_cast<std::size_t>(source.back())]->point;
  const PointId b = destination.empty() ? to : zones[static_cast<std::size_t>(destination.back())]->point;
  const auto route = zone.local_route(*this, a, b);
  return route && append_parts({from, to}, *route, {a != from, b != to}, out, depth);
}

// A route begins with its first link that flows share. One without shares nothing, and adds what its own links leave it.
double Platform::sent_from(PointId host) const {
  double sum = 0;
  std::set<int> first;
  std::vector<int> route;
  const auto rate_of = [&](int id) { return static_cast<double>(links[static_cast<std::size_t>(id)].bandwidth.count); };
  for (const PointId other : hosts) {
    route.clear();
    if (other == host || !append_route(host, other, route) || route.empty()) continue;
    const auto shared = std::ranges::find_if(route, [&](int id) { return !links[static_cast<std::size_t>(id)].fatpipe; });
    if (shared == route.end())
      sum += rate_of(*std::ranges::min_element(route, {}, rate_of));
    else if (first.insert(*shared).second)
      sum += rate_of(*shared);
  }
  return sum;
}

BitsPerSecond Platform::max_from_a_host() const {
  std::call_once(looked_at_hosts_, [&] {
    double most = 1;
    if (hosts.size() <= max_hosts_looked_at)
      for (const PointId host : hosts) most = std::max(most, sent_from(host));
    else
      for (const PlatformLink& link : links) most += static_cast<double>(link.bandwidth.count);
    max_from_a_host_ = {static_cast<std::int64_t>(std::min(most, 9e18))};
  });
  return max_from_a_host_;
}

}  // namespace weft
