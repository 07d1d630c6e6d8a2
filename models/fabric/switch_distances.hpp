// Hops and numbers of shortest paths between all pairs of switches of a graph, by breadth-first search.
#pragma once

#include "models/fabric/fabric.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include <boost/graph/adjacency_list.hpp>

namespace weft {

class SwitchDistances {
 public:
  static constexpr int unreachable = UINT16_MAX;

  // Switches are 0..switches-1; `links` join them, in the order in which choices are counted.
  struct Edge {
    int from, to;
    LinkId link;
  };
  SwitchDistances(int switches, const std::vector<Edge>& links, int max_choices);

  int hops(int from, int to) const { return hops_[index(from, to)]; }
  int paths(int from, int to) const { return paths_[index(from, to)]; }  // at most max_choices

  // The links of the choice-th shortest path.
  void append_path(int from, int to, int choice, std::vector<Hop>& path) const;

 private:
  using SwitchGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, boost::no_property, LinkId>;

  std::size_t index(int from, int to) const { return static_cast<std::size_t>(to) * static_cast<std::size_t>(switches_) + from; }
  void search_towards(int to, int max_choices);

  int switches_;
  SwitchGraph graph_;
  std::vector<std::uint16_t> hops_;
  std::vector<std::uint8_t> paths_;
};

}  // namespace weft
