// Where the running program lies.
#pragma once

#include <string>

namespace weft {

// With a slash at its end.
std::string program_folder();

}  // namespace weft
