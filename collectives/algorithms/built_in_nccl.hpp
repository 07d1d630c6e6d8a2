// NCCL's algorithms among those that Weft comes with.
#pragma once

#include "collectives/algorithms/registry.hpp"

namespace weft {

Algorithm nccl_algorithm(Collective collective);

}  // namespace weft
