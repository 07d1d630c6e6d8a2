// The `weft` program, less main(): arguments in, exit status out, and the one place that prints errors. Commands of folders
// above this one are handed in.
#pragma once

#include <functional>
#include <span>

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

int run_program(int argc, char** argv, std::span<const Command> more_commands);

}  // namespace weft
