// "Did you mean ...?": the known name that a misspelt one most likely stands for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// How many letters must be inserted, removed, replaced or swapped with their neighbour to make `b` of `a`.
int edit_distance(std::string_view a, std::string_view b);

// The allowed name nearest to `found`, the earlier one of equals; nothing when none is near enough to be a slip: more than
// a third of the letters (but always one) would have to change.
std::optional<std::string> nearest_name(std::string_view found, const std::vector<std::string>& allowed);

}  // namespace weft
