// Long schedules for models of time alone: steps that follow one another between the same ranks, put together.
#pragma once

#include "collectives/schedule/schedule.hpp"

#include <vector>

namespace weft {

// A schedule that sends as many bytes between the same ranks in fewer, larger steps. It computes nothing that makes sense.
struct MergedSchedule {
  Schedule schedule;
  std::vector<std::vector<int>> stands_for;  // by channel: of how many steps each is made
};

// Each row of steps with the same transfers, but for chunks, becomes at most `pieces` steps. Costs of a step beside its bytes, such as
// latency, are to be counted as often as `stands_for` says: then a ring in lockstep takes the same time.
MergedSchedule merge_steps(const Schedule& schedule, int pieces);

}  // namespace weft
