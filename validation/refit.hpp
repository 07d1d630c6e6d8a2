// Fits the profile of a reference again, as the reference says.
#pragma once

#include "validation/references.hpp"

#include <iosfwd>

namespace weft {

// Writes the reference's profile: its `profile`, or that of the scenario's hardware. Says on `err` how the fit goes on.
void refit(const Reference& reference, std::ostream& out, std::ostream& err);

}  // namespace weft
