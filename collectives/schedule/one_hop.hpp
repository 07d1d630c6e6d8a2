// An all-to-all whose ranks send straight to one another needs no walk that remembers what each holds: n^2 places.
#pragma once

#include "collectives/schedule/schedule.hpp"

namespace weft {

// Whether the schedule is an all-to-all of one channel that is right because
//   nothing is added, and no chunk that is sent is ever received into, so that every copy is of what its sender had at first;
//   every copy brings its receiver what is due there; and
//   each place where something is due is copied to once: the random numbers of all these places have the sum of those that are.
// False says nothing about the schedule.
bool right_in_one_hop(const Schedule& schedule);

}  // namespace weft
