// A ring inside each group of neighbours (the GPUs of a server) and one ring between the groups for every shard, so that
// the slow links between groups carry only 1/group of the message in 1/group of a flat ring's steps.
#pragma once

#include "collectives/schedule/cost.hpp"
#include "collectives/schedule/schedule.hpp"

namespace weft {

struct Groups {
  int ranks = 1;
  int ranks_per_group = 1;  // divides `ranks`; a group is so many consecutive ranks
};

// Hierarchical ring all-reduce (Mikami et al. 2018, "2D-torus"): reduce-scatter inside the groups, all-reduce of each shard
// across them, all-gather inside. With g ranks in each of G groups: steps 2(g-1) + 2(G-1); n messages a step; each rank
// sends 2(g-1)G + 2(G-1) of n = gG chunks, as few as a flat ring.
Schedule hierarchical_ring_allreduce(const Groups& groups);
Cost hierarchical_ring_allreduce_cost(const Groups& groups);

}  // namespace weft
