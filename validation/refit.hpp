// Fits the profile of a reference again, as the reference says.
#pragma once

#include "validation/references.hpp"

#include <filesystem>
#include <iosfwd>

namespace weft {

// The file of a reference's profile: its `profile`, or that of the scenario's hardware. Throws InputError where that is no name.
std::filesystem::path profile_of(const Reference& reference);

// Writes the reference's profile. Says on `err` how the fit goes on.
void refit(const Reference& reference, std::ostream& out, std::ostream& err);

}  // namespace weft
