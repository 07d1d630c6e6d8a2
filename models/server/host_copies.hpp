// Copies between GPUs and the host memory next to them while a collective runs: data loading, prefetch, checkpoints.
#pragma once

#include "kernels/base/units.hpp"
#include "models/fabric/fabric.hpp"

#include <vector>

namespace weft {

struct HostCopies {
  std::vector<int> gpus = {};  // endpoints; empty: all
  Fabric::Copy direction = Fabric::Copy::to_endpoint;
  Bytes bytes;
  SimTime start = {};   // of the first copy
  SimTime period = {};  // from start to start; a copy that takes longer delays the next. 0: back to back
  friend bool operator==(const HostCopies&, const HostCopies&) = default;
};

}  // namespace weft
