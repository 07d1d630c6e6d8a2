// NCCL's algorithms among those that Weft comes with.
#pragma once

#include "collectives/libraries/nccl.hpp"
#include "collectives/registry/registry.hpp"

namespace weft {

Algorithm nccl_algorithm(Collective collective);

// Of a request that fits.
NcclShape nccl_shape(const Request&);

}  // namespace weft
