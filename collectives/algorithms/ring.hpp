// Everybody passes a chunk to the next rank at every step, so that every link of the ring is busy all the time. Moves as
// few bytes as any algorithm can, in as many steps as there are ranks.
#pragma once

#include "collectives/schedule/cost.hpp"
#include "collectives/schedule/schedule.hpp"

namespace weft {

// Ring all-reduce (Patarasuk & Yuan 2009). Any n >= 1.
// Steps 2(n-1); 2n(n-1) messages; each rank sends 2(n-1) of n chunks.
Schedule ring_allreduce(int n);
Cost ring_allreduce_cost(int n);

// The first half of it, walked one chunk further so that rank r ends with block r. Any n >= 1.
// Steps n-1; n(n-1) messages; each rank sends n-1 of n chunks.
Schedule ring_reduce_scatter(int n);
Cost ring_reduce_scatter_cost(int n);

// The second half of it: each rank passes on the block it last received. Any n >= 1.
// Steps n-1; n(n-1) messages; each rank sends n-1 of n chunks.
Schedule ring_allgather(int n);
Cost ring_allgather_cost(int n);

}  // namespace weft
