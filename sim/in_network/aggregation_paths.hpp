// The links that what is added up crosses, and those on which it goes side by side.
#pragma once

#include "collectives/in_network/atp.hpp"
#include "models/fabric/routes.hpp"

#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace weft {

// The links of several paths, each once.
class LinkSet {
 public:
  void add(std::span<const Hop> path) {
    for (const Hop& hop : path)
      if (seen_.insert(hop.link).second) hops_.push_back(hop);
  }
  const std::vector<Hop>& hops() const { return hops_; }

 private:
  std::vector<Hop> hops_;
  std::set<LinkId> seen_;
};

// Below switches that do not add, and where several racks' sums go on side by side, a link carries each on its own.
struct AggregationTree {
  LinkSet once;                        // links that every packet crosses once
  std::vector<std::vector<Hop>> more;  // those that it crosses again, path by path

  AggregationTree(const std::vector<std::vector<Hop>>& paths, const AtpTree& tree) {
    std::map<LinkId, int> crossed;
    std::set<int> racks;
    for (std::size_t w = 0; w < paths.size(); ++w) {
      const AtpMember& m = tree.members[w];
      const std::span<const Hop> path = paths[w];
      const bool first = m.level == 2 || racks.insert(m.rack).second;  // the others of its rack end at its switch
      const std::size_t last = m.fan_in_2 > 0 ? path.size() - 1 : path.size();
      std::vector<Hop> again;
      for (std::size_t h = 0; h < path.size(); ++h) {
        if (h > 0 && !first) break;
        const bool added = h >= last;  // at the server's switch, to one packet of all
        if (++crossed[path[h].link] > 1 && !added) again.push_back(path[h]);
      }
      once.add(first ? path : path.first(1));
      if (!again.empty()) more.push_back(std::move(again));
    }
  }
};

}  // namespace weft
