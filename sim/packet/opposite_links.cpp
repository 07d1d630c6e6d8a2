#include "sim/packet/opposite_links.hpp"

#include <algorithm>
#include <tuple>

namespace weft {

std::vector<LinkId> opposite_links(const Fabric& fabric) {
  std::vector<std::tuple<NodeId, NodeId, LinkId>> by_ends;
  by_ends.reserve(static_cast<std::size_t>(fabric.links()));
  for (LinkId id = 0; id < fabric.links(); ++id) by_ends.emplace_back(fabric.from(id), fabric.to(id), id);
  std::ranges::sort(by_ends);
  const auto first_between = [&](NodeId from, NodeId to) { return std::ranges::lower_bound(by_ends, std::tuple(from, to, LinkId{-1})); };

  std::vector<LinkId> opposite(by_ends.size(), -1);
  for (auto it = by_ends.begin(); it != by_ends.end(); ++it) {
    const auto [from, to, id] = *it;
    const auto back = first_between(to, from) + (it - first_between(from, to));
    if (back < by_ends.end() && std::get<0>(*back) == to && std::get<1>(*back) == from)
      opposite[static_cast<std::size_t>(id)] = std::get<2>(*back);
  }
  return opposite;
}

}  // namespace weft
