// The commands of weft_tools that weft has not: what measures, fits, compares, tunes, trains, draws, exports and explains.
#pragma once

#include "sim/cli/program.hpp"

#include <span>

namespace weft {

std::span<const Command> validation_commands();

}  // namespace weft
