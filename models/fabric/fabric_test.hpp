// What the tests of every fabric share.
#pragma once

#include "models/fabric/fabric.hpp"
#include "models/fabric/fat_tree.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace weft::test {

inline constexpr LinkSpec link_100g{BitsPerSecond{100'000'000'000}, SimTime{500'000}};

inline FatTree leaf_spine(int leaves, int nodes_per_leaf, int spines) {
  return {.leaves = leaves, .nodes_per_leaf = nodes_per_leaf, .spines = spines, .host_link = link_100g, .fabric_link = link_100g};
}

inline std::vector<Hop> path_of(const Fabric& fabric, int from, int to, int choice) {
  std::vector<Hop> path;
  fabric.append_path(from, to, choice, path);
  return path;
}

// The devices on a path: "leaf0/node1 leaf0 spine1 leaf2 leaf2/node0", or what is wrong with it.
inline std::string drawn(const Fabric& fabric, int from, int to, int choice) {
  NodeId at = fabric.node_of(from);
  std::string names = fabric.device(at).name;
  for (const Hop& hop : path_of(fabric, from, to, choice)) {
    if (fabric.from(hop.link) != at) return names + " then a link from " + fabric.device(fabric.from(hop.link)).name;
    if (hop.priority < 0 || hop.priority >= fabric.priorities()) return names + " then priority " + std::to_string(hop.priority);
    at = fabric.to(hop.link);
    names += " " + fabric.device(at).name;
  }
  return at == fabric.node_of(to) ? names : names + " is not the end";
}

inline int endpoint_named(const Fabric& fabric, const std::string& name) {
  for (int e = 0; e < fabric.endpoints(); ++e)
    if (fabric.device(fabric.node_of(e)).name == name) return e;
  return -1;
}

inline std::string drawn(const Fabric& fabric, const std::string& from, const std::string& to, int choice = 0) {
  return drawn(fabric, endpoint_named(fabric, from), endpoint_named(fabric, to), choice);
}

// Walks every path of every pair. Empty if each is connected, visits no device twice and differs from the other choices,
// and all choices of a pair are equally long; else what is wrong with the first that is not.
inline std::string wrong_path(const Fabric& fabric) {
  for (int from = 0; from < fabric.endpoints(); ++from)
    for (int to = 0; to < fabric.endpoints(); ++to) {
      if (from == to) continue;
      std::set<std::string> seen;
      const int count = fabric.path_count(from, to);
      if (count < 1) return "no path from " + std::to_string(from) + " to " + std::to_string(to);
      for (int choice = 0; choice < count; ++choice) {
        const std::string devices = drawn(fabric, from, to, choice);
        const std::string end = fabric.device(fabric.node_of(to)).name;
        if (devices.size() < end.size() || devices.substr(devices.size() - end.size()) != end) return devices;
        std::set<NodeId> visited;
        std::string links;
        for (const Hop& hop : path_of(fabric, from, to, choice)) {
          if (!visited.insert(fabric.to(hop.link)).second) return devices + " goes in a circle";
          links += std::to_string(hop.link) + " ";
        }
        if (!seen.insert(links).second) return devices + " is a choice twice";
        if (visited.size() != path_of(fabric, from, to, 0).size()) return devices + " is longer or shorter than choice 0";
      }
    }
  return "";
}

inline int switches_of(const Fabric& fabric) { return fabric.devices() - fabric.endpoints(); }

// How many pairs of different endpoints have paths of each number of hops.
inline std::map<std::size_t, int> pairs_by_hops(const Fabric& fabric) {
  std::map<std::size_t, int> counts;
  for (int from = 0; from < fabric.endpoints(); ++from)
    for (int to = 0; to < fabric.endpoints(); ++to)
      if (from != to) ++counts[path_of(fabric, from, to, 0).size()];
  return counts;
}

}  // namespace weft::test
