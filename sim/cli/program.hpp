// Commands of the `weft` program. It is two programs, so that who simulates need not build the rest first: `weft` has the commands that
// program.cpp declares, and becomes `weft_tools` for all others.
#pragma once

#include <functional>
#include <vector>

#include <CLI/CLI.hpp>

namespace weft {

struct Command {
  const char* name;
  const char* does;
  // Declares the command's arguments; what it returns runs the command and gives the exit status. Input that cannot be used
  // is an InputError.
  std::function<std::function<int()>(CLI::App&)> declare;
  // Instead of that: reads its arguments by itself and runs. argv[0] is the command's name.
  std::function<int(int argc, char** argv)> run = {};
  // Declares such a command's arguments, for the manual and the shell's completion.
  std::function<void(CLI::App&)> describe = {};
};

// All commands of the program, as declared.
std::vector<const CLI::App*> commands_of(const CLI::App& app);

}  // namespace weft
