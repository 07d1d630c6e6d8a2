// Long schedules for models of time alone: steps that follow one another between the same ranks, put together.
#pragma once

#include "collectives/schedule/schedule.hpp"

#include <vector>

namespace weft {

// Of how many steps one is made. In turn: ranks wait for one another in a circle, as on a ring, so that none of these steps begins before
// the one before it has arrived. Else, as along a chain or up a tree, they are on their way behind one another.
struct StandsFor {
  int steps = 1;
  bool in_turn = true;
  friend bool operator==(const StandsFor&, const StandsFor&) = default;
};

// A schedule that sends as many bytes between the same ranks in fewer, larger steps. It computes nothing that makes sense.
struct MergedSchedule {
  Schedule schedule;
  std::vector<std::vector<StandsFor>> stands_for;  // by channel and step
};

// Each row of steps with the same transfers, but for chunks, becomes at most `pieces` steps. What keeps a rank is to be counted as often as
// `stands_for` says, and so are latencies of steps in turn: then a ring in lockstep, and a chain of pieces, take the same time.
MergedSchedule merge_steps(const Schedule& schedule, int pieces);

}  // namespace weft
