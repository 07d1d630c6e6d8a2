// An all-gather between neighbours, which exchange two blocks at a time with the one on the left and the one on the right by turns.
#pragma once

#include "collectives/schedule/cost.hpp"
#include "collectives/schedule/schedule.hpp"

namespace weft {

// Neighbour exchange (Chen et al. 2005). Ranks 2i and 2i+1 exchange their own blocks; then every rank exchanges with its
// other neighbour what it got last, of which the first time is its own pair. n must be even.
// Steps n/2; n messages a step; each rank sends n-1 chunks.
Schedule neighbour_exchange_allgather(int n);
Cost neighbour_exchange_allgather_cost(int n);

}  // namespace weft
