// The two programs, less main(): arguments in, exit status out, and the one place that prints errors.
#pragma once

#include <span>

namespace weft {

struct Command;  // program.hpp

// The program `weft`.
int run_weft(int argc, char** argv);
// The program `weft_tools`: all commands, those of folders above this one handed in.
int run_weft_tools(int argc, char** argv, std::span<const Command> more_commands);

}  // namespace weft
