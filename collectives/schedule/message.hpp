#pragma once

#include "collectives/schedule/schedule.hpp"

#include <memory>

namespace weft {

// The whole buffer from the first of two ranks to the second.
std::shared_ptr<const Schedule> message_schedule();

}  // namespace weft
