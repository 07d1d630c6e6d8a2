// What traces of other tools have in common: for each traced rank its computations, collectives of groups of ranks, sends and
// receives, and who waits for whom. Readers (chakra.hpp, kineto.hpp, goal.hpp, weft_trace.hpp) make it, programs are made of it.
#pragma once

#include "collectives/schedule/schedule.hpp"
#include "kernels/base/units.hpp"

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// The first seven are those of Collective.
enum class TracedCollective : std::uint8_t { allreduce, reduce_scatter, allgather, broadcast, reduce, alltoall, barrier, scatter, gather };
std::string_view name_of(TracedCollective);

struct TracedOperation {
  enum class Kind : std::uint8_t { compute, collective, send, receive };
  static constexpr Rank any_rank = -1;
  static constexpr int any_tag = -1, no_sequence = -1, no_unit = -1;
  static constexpr std::int64_t unknown = -1;

  Kind kind = Kind::compute;
  TracedCollective collective = TracedCollective::allreduce;
  bool uneven = false;            // of an all-to-all: its parts differ, and `bytes` is as if all were of the largest
  bool in_order = false;          // it follows the operation before it on its stream
  int stream = 0;                 // of collectives: that of their group, whatever is said here
  int unit = no_unit;             // of a computation: what computes, one at a time
  int group = 0;                  // of a collective: in the groups of its rank
  Rank peer = 0;                  // of a message; of a collective: the root, a rank of the job or of the group; any_rank: not said
  int tag = 0;                    // of a message; of a collective: its number in the group, or no_sequence
  std::uint32_t first_after = 0;  // in TracedRank::after, up to the first of the next operation
  std::int64_t bytes = 0;         // of a collective: what a rank puts in (of a broadcast or scatter, the root); or unknown
  SimTime duration = {};          // of a computation; of others as measured, or zero
  std::uint64_t record = 0;       // where it stands in the file: a node, a line, an event
};

struct TracedGroup {
  std::string name = {};
  std::vector<Rank> ranks = {};  // in the order of the group; empty: not said, or all
  int size = 0;                  // 0: not said
  bool all = false;              // all ranks of the job
  friend bool operator==(const TracedGroup&, const TracedGroup&) = default;
};

// What one rank did; operations come after those they wait for.
struct TracedRank {
  static constexpr Rank not_said = -1;

  Rank rank = not_said;
  std::string file = {};
  const char* record_name = "node";  // what TracedOperation::record counts
  std::vector<TracedOperation> operations = {};
  std::vector<std::uint32_t> after = {};
  std::vector<TracedGroup> groups = {};

  std::span<const std::uint32_t> after_of(std::size_t operation) const {
    const std::size_t first = operations[operation].first_after;
    const std::size_t end = operation + 1 < operations.size() ? operations[operation + 1].first_after : after.size();
    return std::span(after).subspan(first, end - first);
  }
  std::string place(std::size_t operation) const;  // "FILE: node 17"
};

struct TracedProgram {
  std::string format = {};
  int world = 0;  // ranks of the job that was traced; 0: not said
  std::vector<TracedRank> ranks = {};
  std::vector<std::string> missing = {};  // what the files do not say, and what is taken instead where that is allowed
  std::vector<std::string> notes = {};
};

// What one reader makes of one file. Problems that no leniency mends are thrown as InputError.
struct TraceFile {
  std::string format = {};
  int world = 0;
  std::vector<TracedRank> ranks = {};
  std::vector<std::string> missing = {}, notes = {};
};

// Operations as a file has them, which may come before those they wait for: puts them into order, those of the file first where
// that leaves a choice. `after` holds the positions of others in `operations`. Throws InputError on a cycle.
TracedRank in_order_of_dependence(TracedRank rank, const std::vector<std::vector<std::uint32_t>>& after);

}  // namespace weft
