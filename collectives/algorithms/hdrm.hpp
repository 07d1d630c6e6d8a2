// Halving-doubling with rank mapping (Dong et al., "EFLOPS", HPCA 2020): the same schedule as halving_doubling, its ranks
// placed on a BiGraph so that every exchange crosses from an upper to a lower switch and no link between switches carries
// two flows of a step in one direction.
#pragma once

#include "collectives/schedule/cost.hpp"
#include "collectives/schedule/schedule.hpp"

#include <vector>

namespace weft {

// `switches` in two halves, every upper one linked to every lower one; each carries nodes_per_switch. Upper and lower ones are
// counted in turn (upper 0, lower 0, upper 1, ...), and node number = switch * nodes_per_switch + slot.
struct BiGraphShape {
  int switches = 0;
  int nodes_per_switch = 0;
  int nodes() const { return switches * nodes_per_switch; }
  friend bool operator==(const BiGraphShape&, const BiGraphShape&) = default;
};

// The node of each rank of halving-doubling. `switches` and `nodes_per_switch` are powers of two, switches >= 2 and
// nodes_per_switch <= switches / 2.
std::vector<int> hdrm_placement(const BiGraphShape& shape);

// Ranks of the result are nodes. Cost: that of halving_doubling_allreduce.
Schedule hdrm_allreduce(const BiGraphShape& shape);
Cost hdrm_allreduce_cost(const BiGraphShape& shape);

}  // namespace weft
