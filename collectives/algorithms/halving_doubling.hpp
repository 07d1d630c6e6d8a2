// Pairs of ranks exchange halves of what they still work on: as few bytes as a ring in a logarithm of its steps, but the
// partners are far apart.
#pragma once

#include "collectives/schedule/cost.hpp"
#include "collectives/schedule/schedule.hpp"

namespace weft {

// Halving-doubling all-reduce (Rabenseifner 2004), in the order of EFLOPS (Dong et al. 2020): exchanges at distance
// 1, 2, 4, ... halve the piece, the mirror image gathers. Each exchange is one range of chunks. Any n >= 1 by the fold.
// With p = 2^L the largest power of two in n: steps 2L; 2pL messages; each rank sends 2(p-1) of p chunks; plus the fold.
Schedule halving_doubling_allreduce(int n);
Cost halving_doubling_allreduce_cost(int n);

// Recursive halving at distance p/2, ..., 2, 1, so that rank r ends with block r. Any n >= 1: the second of a pair that the
// fold joins hands over its data first and gets its block last (Thakur, Rabenseifner & Gropp 2005).
// Steps L; pL messages; each rank sends n-1 of n chunks; of pairs 2 steps and 2(n-p) messages more, and the second sends all n.
Schedule halving_doubling_reduce_scatter(int n);
Cost halving_doubling_reduce_scatter_cost(int n);

}  // namespace weft
