// Any number of ranks for an all-reduce that wants a power of two.
#pragma once

#include "collectives/schedule/cost.hpp"
#include "collectives/schedule/schedule.hpp"

namespace weft {

int floor_log2(int n);  // n >= 1
int ceil_log2(int n);   // n >= 1
bool is_power_of_two(int n);

// The fold (Thakur, Rabenseifner & Gropp 2005): of the n - p ranks beyond p, the largest power of two, each is paired with
// a neighbour, which adds its whole message first and hands it the result at the end; the p others run `inner`.
// If n is not p: 2 steps and 2(n-p) messages more, and the pairs' takers send one message more.
Schedule folded(const Schedule& inner, int n);
Cost folded_cost(const Cost& inner, int n);

}  // namespace weft
