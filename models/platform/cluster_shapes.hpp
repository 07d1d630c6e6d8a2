// Torus, fat tree and dragonfly, as a <cluster> of a SimGrid platform asks for them.
#pragma once

#include "models/platform/platform_element.hpp"
#include "models/platform/zones.hpp"

#include <memory>
#include <string>

namespace weft {

// Null, and problems said, where "topology" and "topo_parameters" are wrong or not of as many hosts.
std::unique_ptr<ClusterShape> read_cluster_shape(const PlatformElement& cluster, const std::string& topology, std::int64_t hosts,
                                                 const ClusterLinks& links);

}  // namespace weft
