// All nodes on one switch.
#pragma once

#include "kernels/base/error.hpp"
#include "models/fabric/fabric.hpp"

#include <memory>
#include <string_view>
#include <vector>

namespace weft {

struct Star {
  int nodes = 0;
  LinkSpec host_link = {};

  static constexpr std::string_view type = "star";
  std::int64_t endpoints() const { return nodes; }
  friend bool operator==(const Star&, const Star&) = default;
};

std::vector<Problem> problems(const Star&);

// "switch", "node0", "node1", ...
std::unique_ptr<Fabric> build(const Star&);

}  // namespace weft
