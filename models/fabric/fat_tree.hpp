// Fat-trees: leaf-spine (two tiers), given by its counts, or three tiers of switches with k ports each, given by k
// (Al-Fares et al., SIGCOMM 2008). Paths climb only as far as they must; the choices are the switches to turn on.
#pragma once

#include "kernels/base/error.hpp"
#include "models/fabric/fabric.hpp"

#include <memory>
#include <string_view>
#include <vector>

namespace weft {

struct FatTree {
  int leaves = 0;
  int nodes_per_leaf = 0;
  int spines = 0;
  int k = 0;  // instead of the three above: k^3 / 4 nodes in k pods
  LinkSpec host_link = {};
  LinkSpec fabric_link = {};

  static constexpr std::string_view type = "fat_tree";
  bool three_tiers() const { return k != 0; }
  std::int64_t endpoints() const;
  friend bool operator==(const FatTree&, const FatTree&) = default;
};

std::vector<Problem> problems(const FatTree&);

// "leaf0", "leaf0/node2", "spine1"; with three tiers "pod0/edge1", "pod0/edge1/node2", "pod0/aggregation1", "core3".
// Endpoints are numbered leaf by leaf.
std::unique_ptr<Fabric> build(const FatTree&);

}  // namespace weft
