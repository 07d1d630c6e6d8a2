// Which algorithm an MPI library runs for a collective, number of ranks and size, when nobody says one.
#pragma once

#include "collectives/schedule/schedule.hpp"
#include "kernels/base/units.hpp"

#include <string_view>

namespace weft {

// By the fixed decision rules of Open MPI's component `tuned` (ompi/mca/coll/tuned/coll_tuned_decision_fixed.c, the same file from
// 4.1.0 to 5.0.9), for sums, which commute, of elements of at least 4 bytes; reduce_scatter is MPI_Reduce_scatter. `size` is
// Weft's: of an all-gather and an all-to-all the whole message, of which Open MPI counts one rank's block. The rules cut no message
// into segments. Names are of the registry; where it has no such algorithm, of the nearest:
//   nonoverlapping (a reduce, then a broadcast), linear and tree barrier: two_level with all ranks in one group, up and down one tree
//   segmented_ring: ring, as it is without segments; a ring of fewer elements than ranks is recursive_doubling there, too
//   recursive_halving and butterfly: halving_doubling
//   split_binary_tree, in-order_binary: binary_tree (the first sends each half of the message down one of two subtrees)
//   recursive_doubling of an all-gather: of no power of two bruck; of a barrier: dissemination (two steps fewer then)
//   linear_sync and two_proc: direct and what two ranks do anyway
std::string_view mpi_algorithm(Collective collective, int ranks, Bytes size);

}  // namespace weft
