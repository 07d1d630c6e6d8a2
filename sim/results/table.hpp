// The table a person reads: nccl-tests' columns and units, what was in effect above it, the fastest marked.
#pragma once

#include "sim/results/result.hpp"

#include <string>
#include <vector>

namespace weft {

std::string to_table(const std::vector<Result>& results, const std::vector<Case>& cases);

}  // namespace weft
