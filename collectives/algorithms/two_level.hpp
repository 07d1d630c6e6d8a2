// What MPI libraries do with many ranks on a host: one rank of each host, its leader, speaks for all of them, so that the
// network carries one message where every rank's own would share the host's link.
#pragma once

#include "collectives/algorithms/hierarchical_ring.hpp"

#include <optional>

namespace weft {

// A tree inside each group to its leader, `inner` among the leaders, the tree back (Karonis et al. 2000; Luo et al. 2020, Open
// MPI's han). `inner` does the same collective with a rank for each group, from the root's group where there is a root, which
// then leads it; in other groups the rank at the same place does. With G groups of g, L = ceil(log2 g): 2 L steps around the inner
// ones, of a broadcast or reduce L; 2(n-G) messages around those of `inner`, of a broadcast or reduce n-G.
// Instead of the trees a reduce `up` and a broadcast `down` among g ranks, whose rank 0 is the leader, as MPICH does long messages.
Schedule two_level_allreduce(const Groups& groups, const std::optional<Schedule>& up, const Schedule& inner,
                             const std::optional<Schedule>& down);
Schedule two_level_allgather(const Groups& groups, const Schedule& inner);
Schedule two_level_broadcast(const Groups& groups, Rank root, const Schedule& inner, const std::optional<Schedule>& down);
Schedule two_level_reduce(const Groups& groups, Rank root, const std::optional<Schedule>& up, const Schedule& inner);
Schedule two_level_barrier(const Groups& groups, const Schedule& inner);

}  // namespace weft
