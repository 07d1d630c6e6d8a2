// Transfers by way of scratch: put there by one GPU, then copied or added to where they belong by the other.
#pragma once

#include "collectives/interchange/mscclpp_execution.hpp"

#include <vector>

namespace weft {

// Chunks [offset, offset + count) of a transfer into scratch that `reader`, an event, moves on as a whole.
struct StagedPart {
  int offset = 0, count = 0;
  int reader = -1;  // none: they stay where they are
};

// For each event the parts of its transfer, in order; none where the whole stays.
std::vector<std::vector<StagedPart>> staged_parts(const std::vector<PlanEvent>& events, const BufferMap& map);

}  // namespace weft
