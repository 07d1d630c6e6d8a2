// What the table says below a row, beside its columns.
#pragma once

#include "sim/results/row.hpp"

#include <string>
#include <vector>

namespace weft {

// A line each: training step, compression, critical path, what would be gained, failures, copies, jobs, traffic, switches that aggregate,
// packets.
std::vector<std::string> notes_of(const Row& row);

}  // namespace weft
