// What a job does, as data: for each rank a graph of operations. A single collective is the shortest program.
//
//   Program p{.ranks = 2};
//   const int g1 = p.add_call({.name = "g1", .schedule = ring, .elements = 1 << 20, .element_bytes = 4});
//   p.operations = {{{.id = "b1", .duration = 3_ms}, {.id = "g1", .call = g1, .stream = 1, .after = {0}}}};  // of all ranks
#pragma once

#include "collectives/schedule/schedule.hpp"
#include "kernels/base/units.hpp"
#include "models/hardware.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weft {

// One run of a schedule by some of the job's ranks. A message from one rank to another is a call of these two.
struct Call {
  std::string name = {};
  std::shared_ptr<const Schedule> schedule;  // its rank i is the job's rank members[i]
  std::vector<Rank> members = {};            // empty: all ranks of the job, in order
  std::int64_t elements = 0;
  std::int64_t element_bytes = 1;
  std::optional<SimTime> reduction = {};  // each takes this time, whatever the hardware's rate: lists that are merged
  Regime regime = {};
};

// What one rank does once. It begins when all operations in `after`, and the one before it on its stream, have ended on this
// rank; a call also needs the other members, message by message. Computations of one unit take it one at a time, whoever is ready first.
struct Operation {
  static constexpr int no_call = -1, no_unit = -1;

  std::string id = {};
  SimTime duration = {};        // of a computation
  int call = no_call;           // of a call: its index; each member has exactly one operation for it
  int stream = 0;               // operations of one rank and stream follow one another, in the order of the program (as in CUDA)
  bool in_order = true;         // false: it waits for nobody on its stream, and nobody there for it
  int unit = no_unit;           // of a computation: what computes, such as a GPU
  std::vector<int> after = {};  // indices of earlier operations of the same rank

  bool is_call() const { return call != no_call; }
  friend bool operator==(const Operation&, const Operation&) = default;
};

struct Program {
  int ranks = 0;  // servers of its schedules included
  std::vector<Call> calls = {};
  std::vector<std::vector<Operation>> operations = {};  // of all ranks alike (one list), or rank by rank

  int add_call(Call call) { return calls.push_back(std::move(call)), static_cast<int>(calls.size()) - 1; }
  const std::vector<Operation>& of_rank(Rank rank) const {
    return operations.size() == 1 ? operations.front() : operations[static_cast<std::size_t>(rank)];
  }
};

// One call of all ranks. The schedule must outlive the program.
Program program_of(const Schedule& schedule, std::int64_t elements, std::int64_t element_bytes);

// So many times the program, each rank's next behind its last on every stream, with no barrier between.
Program back_to_back(const Program&, int times);

// What keeps it from being run: operations after later ones, calls whose members have no operation or several.
std::vector<std::string> problems(const Program&);

}  // namespace weft
