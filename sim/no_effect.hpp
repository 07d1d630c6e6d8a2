// What a scenario asks for and nothing comes of, for the notes below its rows.
#pragma once

#include "sim/placed_job.hpp"

#include <functional>
#include <string_view>
#include <vector>

namespace weft {

// Of a run that ended at `end`: calls `note` with a sentence for each.
void note_what_has_no_effect(const Scenario& scenario, SimTime end, const std::vector<PlacedJob>& jobs,
                             const std::function<void(std::string_view)>& note);

}  // namespace weft
