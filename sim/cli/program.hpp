// The `weft` program, less main(): arguments in, exit status out, and the one place that prints errors. It is two programs, so that
// who simulates need not build the rest first: `weft` has the commands that program.cpp declares, and becomes `weft_tools` for all others.
#pragma once

#include <functional>
#include <span>
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

// The program `weft`.
int run_weft(int argc, char** argv);
// The program `weft_tools`: all commands, those of folders above this one handed in.
int run_weft_tools(int argc, char** argv, std::span<const Command> more_commands);

}  // namespace weft
