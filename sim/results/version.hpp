// Which Weft made a result.
#pragma once

#include <string>

namespace weft {

std::string version();  // "0.1.0"
std::string commit();   // "1a2b3c4d5e6f", "1a2b3c4d5e6f+changes", or "unknown" outside a repository

// A rank goes on when its own transfers of the step are done (collectives/schedule/schedule.hpp).
inline constexpr const char* order_policy = "own_step";

}  // namespace weft
