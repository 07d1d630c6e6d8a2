// NCCL's reduce: the ring as a chain that ends at the root.
#pragma once

#include "collectives/libraries/nccl.hpp"

namespace weft {

// Each rank adds its data and passes the sum on, piece behind piece. Its cost is that of nccl_ring_broadcast.
Schedule nccl_ring_reduce(const NcclShape&, Rank root);

}  // namespace weft
