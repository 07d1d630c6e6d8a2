// What no single key shows: do the parts of a scenario fit each other?
#pragma once

#include "sim/json/form.hpp"
#include "sim/scenario/scenario.hpp"

namespace weft {

// Adds what is wrong. `in` holds the problems found while reading: a part with problems of its own is not judged against
// the others. `json` is the scenario as written, for places.
void check_compatibility(const Json& json, const Scenario&, Input& in);

}  // namespace weft
