// Completion of command lines for shells, made from the command line as it is declared.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace weft {

// A script for bash to source: commands, the flags of each, the values of flags that take one of a list, files and folders.
std::string bash_completion(const CLI::App& app);

}  // namespace weft
