// Dragonfly (Kim, Dally, Scott & Abts, ISCA 2008): groups of completely connected routers, every pair of groups joined by
// the same number of global cables. Routing is minimal: at most one local hop, one global hop, one local hop; where several
// global cables give equally short paths, they are the choices.
//
// Local hops before the global cable use priority 0 and those after it priority 1, which keeps a lossless dragonfly from
// deadlock.
#pragma once

#include "kernels/base/error.hpp"
#include "models/fabric/fabric.hpp"

#include <memory>
#include <string_view>
#include <vector>

namespace weft {

struct Dragonfly {
  int groups = 0;
  int routers_per_group = 0;
  int nodes_per_router = 0;
  // A pair of groups gets routers_per_group * global_links_per_router / (groups - 1) cables, rounded down, at least 1; ports
  // left over stay empty.
  int global_links_per_router = 0;
  LinkSpec host_link = {};
  LinkSpec fabric_link = {};  // inside a group
  LinkSpec global_link = {};  // between groups
  int priorities = 2;         // 1: the unsafe variant, for the deadlock check to find

  static constexpr std::string_view type = "dragonfly";
  std::int64_t endpoints() const;
  friend bool operator==(const Dragonfly&, const Dragonfly&) = default;
};

std::vector<Problem> problems(const Dragonfly&);

// "group2/router0/node1".
std::unique_ptr<Fabric> build(const Dragonfly&);

}  // namespace weft
