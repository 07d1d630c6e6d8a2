// Costs of messages by their size (models/message_costs.hpp) from what a fit leaves of the measurements.
#pragma once

#include "models/cost_by_size.hpp"
#include "validation/fit/objective.hpp"

#include <utility>
#include <vector>

namespace weft {

inline constexpr std::pair message_cost_bounds{0.05, 20.0};  // of a factor

// What is left over of the objective's points at these values, as far as factors by the size of a message explain it: a ring of 32 ranks
// sends messages of 1/32 of its bytes, a recursive doubling of all of them, and both cost what messages of these sizes cost. The rest is of
// the calls' own (validation/fit/sized_costs.hpp). Both are Gaussian processes over sizes, of the same variance before anything is
// known. Empty where NCCL alone was measured, whose protocols cut the messages, or where nothing is left over.
std::vector<CostAtSize> message_costs(Objective& objective, const std::vector<double>& values);

}  // namespace weft
