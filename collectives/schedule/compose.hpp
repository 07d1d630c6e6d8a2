// Larger schedules from smaller ones. Every composition is lazy: it wraps the production of steps and holds no transfer,
// so a composed schedule costs no more memory than its parts.
//
// Extra chunks (those from `chunks` on) keep the size of the chunk they stand for: they are renamed in the same way as
// the message's chunks, block by block of `chunks`.
//
// Symmetries that the parts declare are renamed along; `then` and `together` drop them.
#pragma once

#include "collectives/schedule/schedule.hpp"

#include <vector>

namespace weft {

// Rank r becomes placement[r], a permutation; the root moves along.
Schedule remap(const Schedule& schedule, const std::vector<Rank>& placement);

// The schedule among some ranks of many: its rank r is ranks_of_group[r] of total_ranks. The other ranks take no part.
Schedule over(const Schedule& schedule, const std::vector<Rank>& ranks_of_group, int total_ranks);

// The schedule on a block of a larger message: its chunk c is chunk first_chunk + c of total_chunks.
Schedule within(const Schedule& schedule, int first_chunk, int total_chunks);

// Every chunk cut into `factor`; transfers stay whole, their ranges grow.
Schedule refined(const Schedule& schedule, int factor);

// First one, then the other, on each rank by itself. Chunks are refined to the least common multiple. Channel i of the
// second follows channel i of the first, so both have the same number, and the collective is the first one's: say so if
// the whole is another one.
Schedule then(const Schedule& first, const Schedule& second);

// Side by side, each with channels of its own. Chunks are refined to the least common multiple.
Schedule beside(const std::vector<Schedule>& schedules);

// Side by side in one channel: step k of the whole is step k of each, in the order given. For schedules on disjoint
// ranks this is `beside` without its channels; ranks that take part in several keep them in step. One channel each.
Schedule together(const std::vector<Schedule>& schedules);

// The message cut into `pieces`, piece p doing step k as step k + p: neighbours work on different pieces at the same time.
// Pieces are blocks of the message, except where blocks of the message belong to ranks (reduce_scatter, allgather,
// alltoall): there every chunk is cut and transfers must be of single chunks.
Schedule pipelined(const Schedule& schedule, int pieces);

// The message cut in the same way into n parts, each a copy of the schedule on channels of its own: concurrent streams.
Schedule channels(const Schedule& schedule, int n);

// Channel c of n goes through each group of neighbouring ranks from rank c * group / n of it on, so that a ring enters and
// leaves a group at other ranks in every channel: one ring for each NIC of a server. For collectives that do not give
// blocks to ranks; `group` divides the ranks.
Schedule staggered(const Schedule& schedule, int group);

// The same schedule, which is declared to be the same when every rank and chunk becomes the next one, the last one the first:
// of n ranks and n chunks, as on a ring.
Schedule rotating(const Schedule& schedule);

}  // namespace weft
