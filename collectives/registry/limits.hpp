// What several algorithms ask of ranks and groups, and take from a request.
#pragma once

#include "collectives/algorithms/hierarchical_ring.hpp"
#include "collectives/registry/registry.hpp"

#include <string>
#include <vector>

namespace weft {

using Problems = std::vector<Problem>;

constexpr int max_in_one_step = 4096;  // ranks, where a step has ranks^2 transfers: 400 MB

std::string divisors_of(int n);
inline Groups groups_of(const Request& q) { return {.ranks = q.ranks, .ranks_per_group = q.settings.group}; }
// A group is given where the algorithm needs one, and divides the ranks.
void groups_divide(const Request& q, Problems& problems);

}  // namespace weft
