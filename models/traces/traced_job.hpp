// A traced program on as many ranks as are asked for: which operations are one collective or one message, of which ranks.
#pragma once

#include "models/traces/traced_program.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weft {

// One collective of a group, or one message: `members` are the sender and the receiver then.
struct TracedCall {
  bool message = false;
  TracedCollective collective = TracedCollective::allreduce;
  int group = 0;           // of a collective, in TracedJob::groups
  Rank from = 0, to = 0;   // of a message
  Rank root = 0;           // of a collective: its number in the group
  std::int64_t bytes = 0;  // of a collective as nccl-tests count them: of an all-gather what all get
};

struct TracedJob {
  static constexpr int no_call = -1;

  std::shared_ptr<const TracedProgram> program;
  int ranks = 0;
  bool alike = false;  // all ranks do the same: call_of has one list
  std::vector<std::vector<Rank>> groups = {};
  std::vector<TracedCall> calls = {};
  std::vector<std::vector<int>> call_of = {};  // by rank and operation of its trace
  std::vector<int> source = {};                // by rank: whose trace it follows, in program->ranks
  std::vector<std::string> missing = {};       // what the trace does not say, with what is taken instead
  std::vector<std::string> notes = {};         // how it was spread

  const TracedRank& trace_of(Rank rank) const { return program->ranks[static_cast<std::size_t>(source[static_cast<std::size_t>(rank)])]; }
};

// How many ranks were traced, as far as the files say; 0: they do not.
int world_of(const TracedProgram&);

// Throws InputError where the program cannot be had on so many ranks.
TracedJob traced_job(std::shared_ptr<const TracedProgram>, int ranks);

}  // namespace weft
