// A logarithm of steps for any number of ranks, at distances 1, 2, 4, ... around the ring of ranks.
#pragma once

#include "collectives/schedule/cost.hpp"
#include "collectives/schedule/schedule.hpp"

namespace weft {

// Bruck all-gather (Bruck et al. 1997): rank r sends all it has, blocks r, r+1, ..., to rank r - 2^k. Any n >= 1. Blocks stay
// where they belong, so a range that passes the end of the message goes as two transfers. (The paper, Open MPI and MPICH gather into
// a buffer that is rotated at the end, and send n L messages; that needs blocks of one size, and those here may differ by an element.)
// With L = ceil(log2 n): steps L; (n-1)(L+1) messages; each rank sends n-1 of n chunks.
Schedule bruck_allgather(int n);
Cost bruck_allgather_cost(int n);

// Bruck all-to-all (same paper): a block that must travel distance i moves on at the steps that are bits of i. Fewer, larger
// messages than direct: each rank packs what moves into one range, sends it, unpacks. Any n >= 1.
// With L = ceil(log2 n): steps 3L + 2, of which L send; nL messages; each rank sends one chunk for every bit set in 0..n-1.
Schedule bruck_alltoall(int n);
Cost bruck_alltoall_cost(int n);

}  // namespace weft
