// What each collective starts from and must end with, chunk by chunk: the table in schedule.hpp as functions.
#pragma once

#include "collectives/schedule/schedule.hpp"

#include <cstdint>
#include <optional>

namespace weft {

// Whose data belongs in a chunk: one rank's chunk, or the sum of that chunk over all workers.
struct Content {
  static constexpr Rank everyone = -1;
  Rank whose = everyone;
  int chunk = 0;
};

// The rank whose block a chunk of the message is in.
inline Rank owner_of(const Schedule& s, int chunk) {
  return static_cast<Rank>((static_cast<std::int64_t>(chunk + 1) * s.ranks - 1) / s.chunks);
}

// Chunks [first, last).
struct ChunkRange {
  int first = 0, last = 0;
  bool has(int chunk) const { return chunk >= first && chunk < last; }
};

inline ChunkRange block_of(const Schedule& s, Rank rank) {
  const auto begin = [&](Rank r) { return static_cast<int>(std::int64_t{r} * s.chunks / s.ranks); };
  return {begin(rank), begin(rank + 1)};
}

// Where `rank` holds its own data before the first step.
inline ChunkRange held_at_start(const Schedule& s, Rank rank) {
  if (rank >= s.workers() || (s.collective == Collective::broadcast && rank != s.root)) return {};
  return s.collective == Collective::allgather ? block_of(s, rank) : ChunkRange{0, s.chunks};
}

inline bool holds_at_start(const Schedule& s, Rank rank, int chunk) { return held_at_start(s, rank).has(chunk); }

// What `rank` must hold in `chunk` after the last step; nothing where that is left open.
inline std::optional<Content> due_at_end(const Schedule& s, Rank rank, int chunk) {
  if (s.collective == Collective::alltoall) {
    const int block = s.chunks / s.ranks;
    const int from = chunk / block - s.ranks;  // extra block `from` holds that rank's block for this one
    if (from < 0 || from >= s.ranks) return std::nullopt;
    return Content{from, rank * block + chunk % block};
  }
  if (chunk >= s.chunks) return std::nullopt;
  switch (s.collective) {
    case Collective::allreduce:
      return rank < s.workers() ? std::optional(Content{Content::everyone, chunk}) : std::nullopt;
    case Collective::reduce_scatter:
      return owner_of(s, chunk) == rank ? std::optional(Content{Content::everyone, chunk}) : std::nullopt;
    case Collective::reduce:
      return rank == s.root ? std::optional(Content{Content::everyone, chunk}) : std::nullopt;
    case Collective::allgather:
      return Content{owner_of(s, chunk), chunk};
    case Collective::broadcast:
      return Content{s.root, chunk};
    case Collective::alltoall:
    case Collective::barrier:
      break;
  }
  return std::nullopt;
}

// The first chunk behind `chunk` in which something else is due: another rank's data, or data that was moved by another distance.
inline int due_alike_until(const Schedule& s, Rank rank, int chunk) {
  if (chunk >= s.chunks && s.collective != Collective::alltoall) return s.all_chunks();
  switch (s.collective) {
    case Collective::alltoall: {
      const int block = s.chunks / s.ranks;
      return (chunk / block + 1) * block;
    }
    case Collective::allgather:
      return block_of(s, owner_of(s, chunk)).last;
    case Collective::reduce_scatter: {
      const ChunkRange own = block_of(s, rank);
      return chunk < own.first ? own.first : chunk < own.last ? own.last : s.chunks;
    }
    default:
      return s.chunks;
  }
}

}  // namespace weft
