// Who is to blame: the parts of a job's critical path, by the names of what limited it.
#pragma once

#include "models/fabric/fabric.hpp"
#include "sim/network/critical_path.hpp"
#include "sim/results/row.hpp"

#include <span>

namespace weft {

// Of `parts` of so many iterations, the mean. `placement`: the endpoint of each rank.
CriticalPath critical_path(const PathParts& parts, std::size_t iterations, std::span<const int> placement, const Fabric& fabric);

}  // namespace weft
