// One partner at a time: without the storm of the direct algorithms.
#pragma once

#include "collectives/schedule/cost.hpp"
#include "collectives/schedule/schedule.hpp"

namespace weft {

// Pairwise all-to-all: at step k every rank sends to the one k + 1 further on. Any n >= 1; the local copy goes with the first
// step, which n = 1 has too. Steps max(1, n-1); n(n-1) messages; each rank sends n-1 of n chunks.
Schedule pairwise_alltoall(int n);
Cost pairwise_alltoall_cost(int n);

// Pairwise reduce-scatter: at step k every rank sends its part of a block to the rank that keeps the block, k + 1 further on. No rank needs
// memory for more than its own block and one that arrives. Any n >= 1. Steps n-1; n(n-1) messages; each rank sends n-1 of n chunks.
Schedule pairwise_reduce_scatter(int n);
Cost pairwise_reduce_scatter_cost(int n);

}  // namespace weft
