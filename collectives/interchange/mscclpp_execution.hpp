// What happens when a plan is executed, in an order that its synchronisation allows, each transfer with the chunks that it touches.
#pragma once

#include "collectives/interchange/mscclpp_plan.hpp"
#include "collectives/schedule/schedule.hpp"

#include <string>
#include <vector>

namespace weft {

struct PlanEvent {
  int block = 0;
  int operation = 0;
  Transfer transfer = {};        // none where `count` is 0: the block comes to a point that others wait for, or waits for points of others
  std::vector<int> waited = {};  // events, of other blocks or earlier ones of this
  bool moves() const { return transfer.count > 0; }
};

// Throws InputError where thread blocks deadlock, with who waits for what, and where two of them touch a chunk, one of them writing
// it, without an order between them.
std::vector<PlanEvent> execute(const MscclppPlan& plan, const BufferMap& map);

// "gpu 0, thread block 1, operation 3 (put)"
std::string place_of(const MscclppPlan& plan, int block, int operation);

}  // namespace weft
