// From what happens when a plan is executed to transfers and their order.
#pragma once

#include "collectives/interchange/moves.hpp"
#include "collectives/interchange/mscclpp_execution.hpp"

#include <vector>

namespace weft {

// What is put into scratch and moved on from there by its receiver, once, is one transfer (unless the map keeps scratch): a sum that is
// received, or a copy that needs no permission to be overwritten.
Schedule lowered(const MscclppPlan& plan, const BufferMap& map);

}  // namespace weft
