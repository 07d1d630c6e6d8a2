// What keeps a workload from training: keys that contradict one another, or settings that the network cannot honour.
#pragma once

#include "sim/json/json_text.hpp"
#include "sim/scenario/scenario.hpp"

#include <vector>

namespace weft {

// Of a workload that was read without a problem, on a fabric that can be built; `json` is the scenario as written.
std::vector<Problem> training_problems(const Json& json, const Scenario& scenario);

// For commands to which a workload is a collective: throws InputError when the scenario of `file` trains a model
// or compares several compressions.
void refuse_training(const std::string& file, const Scenario& scenario);

}  // namespace weft
