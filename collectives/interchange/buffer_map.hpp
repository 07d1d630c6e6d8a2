// Where the buffers of MSCCL's GPUs (input, output, scratch) are in a schedule, which has one message and extra space behind it.
#pragma once

#include "collectives/schedule/schedule.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

enum class BufferKind : char { input = 'i', output = 'o', scratch = 's' };

// How a program is put into a schedule's memory. The first way that is proved right is taken.
struct MemoryChoice {
  bool own_output = false;   // the output is not the input: it has space of its own, and is copied over the message at the end
  bool sums_aside = false;   // a sum that is only passed on (rrs) leaves the chunk that it adds to as it was
  bool via_scratch = false;  // what is received in scratch and moved on from there by its receiver stays two transfers
};

struct BufferMap {
  Collective collective = Collective::allreduce;
  int ranks = 1;
  int chunks = 1;   // of the message
  int scratch = 0;  // chunks of the largest
  bool in_place = true;
  MemoryChoice choice = {};

  int block() const { return chunks / ranks; }
  bool output_aside() const { return collective == Collective::alltoall ? !in_place : choice.own_output; }
  int size_of(BufferKind kind) const;
  int chunk(Rank rank, BufferKind kind, int offset) const;
  int scratch_begin() const { return collective == Collective::alltoall || choice.own_output ? 2 * chunks : chunks; }
  // Space for sums that are passed on; the n-th of one chunk.
  int aside(int chunk, int n) const;
  // The buffer of a chunk in words, and the chunk's index there.
  std::pair<std::string_view, int> shown(int chunk) const;
  // Whether what the collective leaves in the output must be copied to where a schedule leaves it, and the chunks of that: from, to.
  std::vector<std::pair<int, int>> closing_copies(Rank rank) const;
};

// "allreduce", "all_reduce", "AllReduce": as programs write them.
std::optional<Collective> collective_written(std::string name);

// Tries the ways in turn; `build` gives the schedule for one. Throws InputError with what is wrong with the last.
Schedule first_proved(const std::vector<MemoryChoice>& choices, const std::function<Schedule(MemoryChoice)>& build);

}  // namespace weft
