// Everybody sends to everybody at once: one or two steps, and as much congestion as the fabric makes of it.
#pragma once

#include "collectives/algorithms/binomial_tree.hpp"
#include "collectives/schedule/cost.hpp"
#include "collectives/schedule/schedule.hpp"

namespace weft {

// Direct all-reduce: every rank reduces its own chunk. Any n >= 1; n = 1 has no steps.
// Steps 2; 2n(n-1) messages; each rank sends 2(n-1) of n chunks.
Schedule direct_allreduce(int n);
Cost direct_allreduce_cost(int n);

// Direct reduce-scatter and all-gather, the two steps of it: 1 step; n(n-1) messages; each rank sends n-1 of n chunks.
Schedule direct_reduce_scatter(int n);
Cost direct_reduce_scatter_cost(int n);
Schedule direct_allgather(int n);
Cost direct_allgather_cost(int n);

// Direct reduce and broadcast: everybody sends to the root at once, as to a parameter server, or the root to everybody.
// Steps 1; n-1 messages; each rank sends the message once, or the root n-1 times.
Schedule direct_reduce(const Rooted& at);
Cost direct_reduce_cost(int n);
Schedule direct_broadcast(const Rooted& at);
Cost direct_broadcast_cost(int n);

// Direct all-to-all. Any n >= 1; the local copy is a step even for n = 1.
// Steps 1; n(n-1) messages; each rank sends n-1 of n chunks.
Schedule direct_alltoall(int n);
Cost direct_alltoall_cost(int n);

}  // namespace weft
