// Aggregation trees: switches that aggregate what some endpoints send, each what comes from below, and copy the sum back, as SHARP does.
#pragma once

#include "models/fabric/path_class.hpp"

#include <map>
#include <span>
#include <vector>

namespace weft {

struct SwitchTree {
  // Of an endpoint: the links on which nobody else's data comes with its own, up to the first switch to which another's comes, and those on
  // which the sum comes down to it alone. Every link of the tree is one endpoint's.
  struct Way {
    std::vector<Hop> hops = {};
    SimTime up = {}, down = {};  // latency, to the root and from it
    PathClass path_class = {};
    FlowTerms terms = {};
  };
  std::map<int, Way> ways;  // by endpoint
};

// The root is the first switch of the first endpoint. Of paths of equal cost it is the one of this number, so that trees of different
// numbers go through different switches. There must be two endpoints. Throws InputError where no switch lies between two of them.
SwitchTree switch_tree(const Fabric& fabric, std::span<const int> endpoints, int number);

}  // namespace weft
