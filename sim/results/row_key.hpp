// What tells a row from all others: two with one key have the same result.
#pragma once

#include "sim/cases/plan.hpp"

#include <string>

namespace weft {

// Of everything that the row's simulation depends on, every default filled in, and of this version of Weft.
std::string row_key(const RowRequest& request);

}  // namespace weft
