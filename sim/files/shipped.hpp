// The files that Weft ships, wherever it has been installed.
#pragma once

#include <filesystem>
#include <string>

namespace weft {

// share/weft/NAME in the nearest folder above this code's program or library that has it: of an installation its prefix, of a build the
// build folder, which links to the sources. WEFT_DATA_DIR in the environment names the folder instead that stands for share/weft.
// Where there is none, an absolute path at which nothing is. `name`: "scenarios" or "validation".
std::filesystem::path shipped(const std::string& name);

// What to say where that is not there, as for a program that was copied without its files; empty where it is.
std::string missing_shipped(const std::string& name);

}  // namespace weft
