// From the programs of others to a schedule: transfers, which of them must come before which, and the steps that follow.
//
// Programs of thread blocks (MSCCL) say what waits for what; a schedule has steps, and a rank is done with one before it
// begins the next. Every transfer gets the earliest step that the order allows, which may make a rank wait for more than the program
// does: never for less.
#pragma once

#include "collectives/schedule/schedule.hpp"

#include <functional>
#include <string>
#include <vector>

namespace weft {

// One transfer, or a local operation, of a schedule to be; or, of no chunks, a point that comes behind some and before others.
struct Move {
  Transfer transfer;
  int channel = 0;    // of the program; joined with others where they touch the same
  int step = -1;      // where the program says it, with `position`
  int position = -1;  // in the step
  bool moves() const { return transfer.count > 0; }
};

// `second` is in a step at least `gap` after that of `first`: 0 where it may overwrite what the first one reads.
struct MoveOrder {
  int first = 0, second = 0, gap = 1;
};

struct MoveProgram {
  Schedule frame;  // all but the steps
  std::vector<Move> moves;
  std::vector<MoveOrder> orders;
  int channels = 1;
  std::function<std::string(int move)> name;  // "line 12: ..." for messages
};

// Throws InputError where moves wait for one another in a circle, or where steps that are said do not keep the order.
Schedule scheduled(const MoveProgram& program);

}  // namespace weft
