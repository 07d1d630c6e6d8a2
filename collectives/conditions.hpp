// What each collective starts from and must end with, chunk by chunk: the table in schedule.hpp as functions.
#pragma once

#include "collectives/schedule.hpp"

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

// Whether `rank` holds its own data in `chunk` before the first step.
inline bool holds_at_start(const Schedule& s, Rank rank, int chunk) {
  if (chunk >= s.chunks || rank >= s.workers()) return false;
  if (s.collective == Collective::allgather) return owner_of(s, chunk) == rank;
  if (s.collective == Collective::broadcast) return rank == s.root;
  return true;
}

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

}  // namespace weft
