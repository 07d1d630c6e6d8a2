// Two binary trees, each for one half of the message, made so that a rank inside one is a leaf of the other: both directions
// of every rank's link are used, in a logarithm of steps.
#pragma once

#include "collectives/schedule/cost.hpp"
#include "collectives/schedule/schedule.hpp"

#include <vector>

namespace weft {

// The first tree: the parent of each rank, -1 for the root, rank 0. Ranks stand in order: below rank 0 hangs the largest power
// of two; below an even rank, one on each side. Odd ranks are leaves. Height ceil(log2 n).
std::vector<Rank> in_order_tree(int n);

// All-reduce along one tree, given by each rank's parent: leaves start, every rank sends up when its children have, and the sum
// comes down level by level.
Schedule tree_allreduce(const std::vector<Rank>& parents);

// Double binary tree all-reduce (Sanders, Speck & Traeff 2009): reduce to the roots, broadcast back. The second tree is the
// mirror image for even n, the first one moved on by a rank for odd n. Any n >= 1. To be cut into pieces (pipelined).
// Steps 2 ceil(log2 n); 4(n-1) messages; the busiest rank sends min(n, 4) of 2 chunks (none for n = 1).
Schedule double_binary_tree_allreduce(int n);
Cost double_binary_tree_allreduce_cost(int n);

}  // namespace weft
