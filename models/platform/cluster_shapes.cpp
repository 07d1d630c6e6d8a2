#include "models/platform/cluster_shapes.hpp"

#include <algorithm>

namespace weft {

namespace {

std::int64_t product_of(const std::vector<int>& all) {
  std::int64_t out = 1;
  for (const int one : all) out = std::min<std::int64_t>(out * one, std::int64_t{2} * max_platform_links);
  return out;
}

std::int64_t fat_tree_links(const std::vector<std::vector<int>>& lists) {
  std::int64_t all = 0;
  for (std::size_t level = 0; level < lists[1].size(); ++level) {
    std::vector<int> factors;
    for (std::size_t l = 0; l < lists[1].size(); ++l) factors.push_back(l >= level ? lists[1][l] : lists[2][l]);
    factors.push_back(lists[2][level]);
    factors.push_back(lists[3][level]);
    all += product_of(factors);
  }
  return 2 * all;
}

}  // namespace

std::unique_ptr<ClusterShape> read_cluster_shape(const PlatformElement& cluster, const std::string& topology, std::int64_t hosts,
                                                 const ClusterLinks& cables) {
  const std::vector<std::vector<int>> lists = cluster.lists("topo_parameters");
  const auto wrong = [&](const char* wanted) {
    cluster.refuse("topo_parameters of a {} must be {}, got {}", topology, wanted, shown_value(cluster.text_or("topo_parameters")));
    return nullptr;
  };
  const auto needs = [&](std::int64_t count) {
    if (count != hosts) cluster.refuse("the {} has {} hosts, and radical names {}", topology, count, hosts);
    return count == hosts;
  };
  if (topology == "TORUS") {
    if (lists.size() != 1 || lists[0].empty()) return wrong("the size of each dimension, \"3,2,2\"");
    return needs(product_of(lists[0])) ? torus_shape(lists[0], cables) : nullptr;
  }
  if (topology == "FAT_TREE") {
    const bool right = lists.size() == 4 && lists[0].size() == 1 &&
                       std::ranges::all_of(lists.begin() + 1, lists.end(),
                                           [&](const auto& list) { return list.size() == static_cast<std::size_t>(lists[0][0]); });
    if (!right) return wrong("levels, children, parents and cables by level, \"2;4,4;1,2;1,2\"");
    if (!needs(product_of(lists[1]))) return nullptr;
    if (fat_tree_links(lists) > static_cast<std::int64_t>(max_platform_links)) return wrong("at most 4194304 links");
    return fat_tree_shape({lists[1], lists[2], lists[3]}, cables);
  }
  if (topology == "DRAGONFLY") {
    const bool right = lists.size() == 4 && lists[0].size() == 2 && lists[1].size() == 2 && lists[2].size() == 2 && lists[3].size() == 1;
    if (!right) return wrong("groups, chassis and routers, each with its cables, and nodes, \"3,4;4,3;5,1;2\"");
    const DragonflyParameters p{lists[0][0], lists[0][1], lists[1][0], lists[1][1], lists[2][0], lists[2][1], lists[3][0]};
    if (p.groups > p.routers) return wrong("with at least as many routers in a chassis as groups: router g is cabled to group g");
    if (!needs(product_of({p.groups, p.chassis, p.routers, p.nodes}))) return nullptr;
    const std::int64_t joined = product_of({p.groups, p.chassis, p.routers, p.routers + p.chassis});
    if (joined + std::int64_t{p.groups} * p.groups > static_cast<std::int64_t>(max_platform_links)) return wrong("at most 4194304 links");
    return shape_of_groups(p, cables);
  }
  cluster.refuse("topology of <cluster> must be FLAT, TORUS, FAT_TREE or DRAGONFLY, got {}", shown_value(topology));
  return nullptr;
}

}  // namespace weft
