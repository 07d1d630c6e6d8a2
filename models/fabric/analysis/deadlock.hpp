// Can a lossless fabric deadlock? It can when the buffers that messages hold and wait for close a cycle (Dally & Seitz 1987).
//
// The channel dependency graph has a node for every (link, priority), and an edge where some path uses one right after the
// other. All paths that routing can choose are walked, whatever the ECMP policy.
#pragma once

#include "models/fabric/fabric.hpp"

#include <string>
#include <vector>

namespace weft {

struct DeadlockCheck {
  std::vector<Hop> cycle;     // a short one, from any of its channels on; empty: no deadlock is possible
  std::int64_t paths = 0;     // walked: one for each choice of every pair of switches that carry endpoints
  std::int64_t channels = 0;  // between switches
  std::int64_t dependencies = 0;
  bool can_deadlock() const { return !cycle.empty(); }
};

// Throws InputError for a fabric with more than 10^8 paths.
DeadlockCheck check_deadlock(const Fabric& fabric);

// "upper0->lower0 (priority 0) -> lower0->upper1 (priority 0) -> ... -> back to upper0->lower0"; "" without a cycle.
std::string describe_cycle(const Fabric& fabric, const DeadlockCheck& result);

}  // namespace weft
