// What a real run of training steps can do of a scenario.
#pragma once

#include "collectives/training/real_rank.hpp"
#include "kernels/base/error.hpp"
#include "sim/cases/plan.hpp"

#include <vector>

namespace weft {

// What each rank computes in a step of a scenario that trains.
StepWork step_work(const Scenario& scenario);

// Kernels of compression run on a core of the CPU in a real run, whatever the scenario says, and so they do in what it is compared with.
void compress_on_core(std::vector<Case>& cases);

// Everything that the row of a scenario that trains wants and ranks that only compute, wait and reduce cannot.
std::vector<Problem> problems_for_real(const RowRequest& request);

}  // namespace weft
