// The commands of weft_tools that weft has not: what measures, fits, compares, tunes, trains, draws, exports and explains.
#pragma once

#include <span>

namespace weft {

struct Command;  // sim/cli/program.hpp

std::span<const Command> validation_commands();

}  // namespace weft
