// The exact but slow half of verify.hpp: follows every rank's share of one chunk through a schedule.
#pragma once

#include "collectives/schedule/conditions.hpp"
#include "collectives/schedule/schedule.hpp"

#include <string>

namespace weft {

// Why `rank` does not end with `due` in its `chunk`: the first step that adds a share twice, or what is missing or too much
// at the end. The schedule's indices are in range.
std::string explain_wrong_chunk(const Schedule& schedule, Rank rank, int chunk, const Content& due);

// Which rank has not heard of which after the barrier; empty when all have.
std::string explain_barrier(const Schedule& schedule);

// "step 2: 1->2", with the channel in front where there are several.
std::string place_of(const Schedule& schedule, std::size_t channel, int step, const Transfer& t);

}  // namespace weft
