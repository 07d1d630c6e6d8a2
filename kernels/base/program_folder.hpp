// Where the running program lies, and the programs beside it.
#pragma once

#include <string>

namespace weft {

// With a slash at its end.
std::string program_folder();

// Becomes this program, which lies beside the running one, with these arguments. Returns only if that fails: 2, having printed why.
int become_program(const std::string& name, int argc, char** argv);

}  // namespace weft
