// A tree in which rank v hangs below v without its lowest or highest bit: one more half of the ranks joins at every step.
#pragma once

#include "collectives/schedule/cost.hpp"
#include "collectives/schedule/schedule.hpp"

namespace weft {

struct Rooted {
  int ranks = 1;
  Rank root = 0;
};

// Gives rank 0's part to `root`, rank 1's to the next rank, and so on around.
Schedule rooted_at(const Schedule& schedule, Rank root);

// Binomial broadcast: at step k the 2^k ranks that have the message send it on. Any n >= 1.
// Steps L = ceil(log2 n); n-1 messages; the root sends the whole message L times.
Schedule binomial_tree_broadcast(const Rooted& at);
Cost binomial_tree_broadcast_cost(int n);

// The same tree, but whoever has the message sends it to all its children at the same time, instead of to the next when one has it: at step
// k those that are k sends away from the root. Long messages share its links then, and nobody can pass one on before all have it.
// Steps floor(log2 n); n-1 messages; the root sends the whole message ceil(log2 n) times.
Schedule binomial_tree_at_once_broadcast(const Rooted& at);
Cost binomial_tree_at_once_broadcast_cost(int n);

// Binomial reduce, the mirror image. Steps L; n-1 messages; each rank but the root sends the message once.
Schedule binomial_tree_reduce(const Rooted& at);
Cost binomial_tree_reduce_cost(int n);

// The same tree with neighbours first: in round r of the reduce ranks 2^r apart pair up, the later sends to the earlier; with an odd
// number left the last goes to the next round unpaired (the sketch tree of gs-SGD). The broadcast goes back down. Any n >= 1.
// Steps L; n-1 messages; each rank sends the message once on the way up, the root L times on the way down.
Schedule neighbour_tree_reduce(const Rooted& at);
Cost neighbour_tree_reduce_cost(int n);
Schedule neighbour_tree_broadcast(const Rooted& at);
Cost neighbour_tree_broadcast_cost(int n);

// Parts of other algorithms, for root 0. Scatter: rank 0's block r goes to rank r, halves of the tree first. Gather: back.
// Steps L; n-1 messages; scatter: rank 0 sends n-1 of n chunks.
Schedule binomial_scatter(int n);
Schedule binomial_gather(int n);

}  // namespace weft
