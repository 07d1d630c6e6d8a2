// NCCL's algorithms among those that Weft comes with.
#pragma once

#include "collectives/algorithms/nccl.hpp"
#include "collectives/algorithms/registry.hpp"

namespace weft {

Algorithm nccl_algorithm(Collective collective);

// Of a request that fits.
NcclShape nccl_shape(const Request&);

}  // namespace weft
