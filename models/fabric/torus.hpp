// A torus of switches, each with the same number of nodes. Paths correct one dimension after the other, each the shorter
// way round (where both ways are equal, both are choices).
//
// In each dimension a message starts on priority 0 and moves to priority 1 on the cable that closes the ring (a dateline:
// Dally & Seitz 1987), which keeps a lossless torus from deadlock.
#pragma once

#include "kernels/base/error.hpp"
#include "models/fabric/fabric.hpp"

#include <memory>
#include <string_view>
#include <vector>

namespace weft {

struct Torus {
  std::vector<int> dims = {};  // switches along each dimension; two in a row share one cable
  int nodes_per_switch = 1;
  LinkSpec host_link = {};
  LinkSpec fabric_link = {};
  int priorities = 2;  // 1: the unsafe variant, for the deadlock check to find

  static constexpr std::string_view type = "torus";
  std::int64_t endpoints() const;
  friend bool operator==(const Torus&, const Torus&) = default;
};

std::vector<Problem> problems(const Torus&);

// "switch1.0.3/node0": coordinates, the first dimension changing fastest in the numbering of switches.
std::unique_ptr<Fabric> build(const Torus&);

}  // namespace weft
