// What `weft help` prints, and the manual page: both made from the command line as it is declared.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace weft {

// The help of one command, or of the program where none is named. Throws InputError where there is no such command.
std::string help_of(const CLI::App& app, const std::string& command);

// weft(1), for man.
std::string man_page(const CLI::App& app, const std::string& version);

}  // namespace weft
