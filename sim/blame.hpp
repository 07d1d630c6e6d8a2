// Who is to blame: the parts of a job's critical path, by the names of what limited it.
#pragma once

#include "models/fabric/fabric.hpp"
#include "sim/network/critical_path.hpp"
#include "sim/results/row.hpp"

#include <span>
#include <string_view>

namespace weft {

// Names of limits that are no links: the second behind the name of an endpoint.
inline constexpr std::string_view rate_cap_of_a_flow = "rate cap of a flow", reduce_engine_of_endpoint = " reduce engine";

// Of `parts` of so many iterations, the mean. `placement`: the endpoint of each rank.
CriticalPath critical_path(const PathParts& parts, std::size_t iterations, std::span<const int> placement, const Fabric& fabric);

}  // namespace weft
