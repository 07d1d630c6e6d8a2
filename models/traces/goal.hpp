// GOAL schedules (Hoefler et al.; LogGOPSim, ATLAHS): sends, receives and calculations of all ranks in one file, as text or as
// txt2bin packs them. A calculation's number is nanoseconds.
#pragma once

#include "models/traces/traced_program.hpp"

#include <string>
#include <string_view>

namespace weft {

bool looks_like_goal_text(std::string_view text);
bool looks_like_goal_binary(std::string_view bytes);

// Throw InputError as "FILE: line 17: ..." and "FILE: rank 3, operation 17: ...".
TraceFile parse_goal_text(std::string_view text, const std::string& file);
TraceFile parse_goal_binary(std::string_view bytes, const std::string& file);

}  // namespace weft
