// --rename: what a measured algorithm is called here.
#pragma once

#include "kernels/base/error.hpp"
#include "sim/scenario/scenario.hpp"

#include <map>
#include <string>
#include <vector>

namespace weft {

using Renames = std::map<std::string, AlgorithmChoice>;  // measured name -> ours

// "ring" or "ring(channels=8)": as tables print it. Throws InputError saying what is wrong with it.
AlgorithmChoice parse_algorithm(const std::string& text);

// "measured=ours" each, ours as above. Throws InputError with every problem.
Renames renames_in(const std::vector<std::string>& texts);

}  // namespace weft
