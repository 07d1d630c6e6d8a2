// Trees whose ranks have more children than a binomial tree's, or only two, as MPI libraries broadcast and reduce along.
#pragma once

#include "collectives/algorithms/binomial_tree.hpp"

namespace weft {

// k-nomial broadcast of radix 4: a rank's children are those that differ from it in one digit (base 4) behind its last one that is not 0.
// Whoever has the message sends it to all of them at the same time, as Open MPI does: at step k those that are k sends away from the root.
// Any n >= 1. Steps at most L = ceil(log4 n); n-1 messages; the root sends at most 3 L of them.
Schedule knomial_tree_broadcast(const Rooted& at);
Cost knomial_tree_broadcast_cost(int n);

// Binary tree: level k are ranks 2^k - 1 and on, and r of them has the children r + 2^k and r + 2^(k+1). Any n >= 1.
// Steps floor(log2 n); n-1 messages; the root sends the message twice, on the way up each rank but the root once.
Schedule binary_tree_broadcast(const Rooted& at);
Cost binary_tree_broadcast_cost(int n);
Schedule binary_tree_reduce(const Rooted& at);
Cost binary_tree_reduce_cost(int n);

}  // namespace weft
