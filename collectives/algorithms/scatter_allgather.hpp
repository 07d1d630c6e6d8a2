// Broadcast and reduce of long messages: no rank, not even the root, sends much more than twice the message.
#pragma once

#include "collectives/algorithms/binomial_tree.hpp"
#include "collectives/schedule/cost.hpp"
#include "collectives/schedule/schedule.hpp"

namespace weft {

// Scatter by a binomial tree, all-gather by a ring (Barnett et al. 1994, van de Geijn). Any n >= 1. The ring brings inner
// ranks of the tree some blocks they have already.
// With L = ceil(log2 n): steps L + n-1; (n-1)(n+1) messages; the root sends 2(n-1) of n chunks.
Schedule scatter_allgather_broadcast(const Rooted& at);
Cost scatter_allgather_broadcast_cost(int n);

// The same scatter, all-gather by recursive doubling, where n is no power of two in Bruck's way (Thakur, Rabenseifner & Gropp 2005).
// Any n >= 1. Steps 2 L; n-1 messages and the all-gather's; the root sends 2(n-1) of n chunks.
Schedule scatter_doubling_broadcast(const Rooted& at);
Cost scatter_doubling_broadcast_cost(int n);

// The mirror image of the first (Rabenseifner 2004): reduce-scatter by a ring, gather by a binomial tree. Any n >= 1.
// Steps L + n-1; (n-1)(n+1) messages; a rank just below the root sends n-1 chunks in the ring and its half of the tree.
Schedule reduce_scatter_gather_reduce(const Rooted& at);
Cost reduce_scatter_gather_reduce_cost(int n);

// The same by recursive halving (the same paper; Thakur, Rabenseifner & Gropp 2005), and the same gather. Any n >= 1.
// Steps and messages those of halving_doubling_reduce_scatter and of the gather, L and n-1.
Schedule halving_gather_reduce(const Rooted& at);

}  // namespace weft
