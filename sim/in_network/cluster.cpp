#include "sim/in_network/cluster.hpp"

#include <algorithm>
#include <numeric>

namespace weft {

std::vector<BitsPerSecond> link_rates(const Fabric& fabric) {
  std::vector<BitsPerSecond> out;
  for (LinkId id = 0; id < fabric.links(); ++id) out.push_back(fabric.link(id).bandwidth);
  return out;
}

InNetworkCluster::InNetworkCluster(const Fabric& fabric, std::vector<int> workers, std::vector<int> others, int number)
    : fabric_(fabric),
      workers_(std::move(workers)),
      others_(std::move(others)),
      number_(number),
      up_(static_cast<std::size_t>(fabric.endpoints()), -1),
      down_(static_cast<std::size_t>(fabric.endpoints()), -1) {
  std::vector<int> endpoint_of(boost::num_vertices(fabric.graph()), -1);
  for (int e = 0; e < fabric.endpoints(); ++e) endpoint_of[static_cast<std::size_t>(fabric.node_of(e))] = e;
  for (LinkId id = 0; id < fabric.links(); ++id) {
    const int from = endpoint_of[static_cast<std::size_t>(fabric.from(id))], to = endpoint_of[static_cast<std::size_t>(fabric.to(id))];
    if (from >= 0 && up_[static_cast<std::size_t>(from)] < 0) up_[static_cast<std::size_t>(from)] = id;
    if (to >= 0 && down_[static_cast<std::size_t>(to)] < 0) down_[static_cast<std::size_t>(to)] = id;
  }
}

std::vector<NodeId> InNetworkCluster::edge_switches() const {
  std::vector<NodeId> out;
  for (const int e : workers_) out.push_back(edge_switch(e));
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<ServerShare> InNetworkCluster::servers(int count, std::int64_t values) const {
  std::vector<int> free(static_cast<std::size_t>(fabric_.endpoints()));
  std::iota(free.begin(), free.end(), 0);
  const auto holds = [](const std::vector<int>& set, int e) { return std::ranges::find(set, e) != set.end(); };
  std::erase_if(free, [&](int e) { return holds(workers_, e) || holds(others_, e); });
  if (!free.empty()) std::rotate(free.begin(), free.begin() + number_ % static_cast<std::ptrdiff_t>(free.size()), free.end());
  const int ranks = static_cast<int>(workers_.size());
  if (count == 0) count = free.empty() ? std::min(ranks, most_default_servers) : 1;
  std::vector<ServerShare> out;
  const int among = std::max(count - static_cast<int>(free.size()), 0);
  for (int s = 0; s < count; ++s) {
    const int i = s - (count - among);  // among the workers
    const std::int64_t first = values * s / count, end = values * (s + 1) / count;
    const int endpoint = i < 0 ? free[static_cast<std::size_t>(s)] : workers_[static_cast<std::size_t>(std::int64_t{i} * ranks / among)];
    out.push_back({endpoint, first, end - first});
  }
  return out;
}

std::vector<Hop> InNetworkCluster::path(int from, int to, Routes& routes) const {
  if (from == to) return {{up_link(from)}, {down_link(from)}};
  const auto hops = routes.hops(routes.of(from, to));
  return {hops.begin(), hops.end()};
}

}  // namespace weft
