// Pairs at distance 1, 2, 4, ... exchange all they have: the fewest steps, for messages so small that bytes are free.
#pragma once

#include "collectives/schedule/cost.hpp"
#include "collectives/schedule/schedule.hpp"

namespace weft {

// Recursive doubling all-reduce (Thakur, Rabenseifner & Gropp 2005). Any n >= 1 by the fold.
// With p = 2^L the largest power of two in n: steps L; pL messages; each rank sends the whole message L times; plus the fold.
Schedule recursive_doubling_allreduce(int n);
Cost recursive_doubling_allreduce_cost(int n);

// Recursive doubling all-gather: what is exchanged doubles. n a power of two.
// Steps log2 n; n log2 n messages; each rank sends n-1 of n chunks.
Schedule recursive_doubling_allgather(int n);
Cost recursive_doubling_allgather_cost(int n);

}  // namespace weft
