// The commands of this folder, for the program: calibrate, lab, replay, timeline, train, validate.
#pragma once

#include "sim/cli/program.hpp"

#include <span>

namespace weft {

std::span<const Command> validation_commands();

}  // namespace weft
