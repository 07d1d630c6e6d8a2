// What a training run spends on checkpoints, on failures and on ranks that join.
#pragma once

#include "sim/row_of_run.hpp"

namespace weft {

// Adds to the outcome of steps without events, which must be that of the scenario's first number of ranks. The run is then its steps one
// behind the other: writing a checkpoint, and whatever is between a failure and the next step, holds all ranks up; parameters come to
// ranks by a broadcast over the scenario's network. `time` becomes the mean of all steps with what was between them, and links are used by
// steps and broadcasts only. `prover`: of the schedules of other numbers of ranks.
void add_events(const Scenario& scenario, const SimulatedJob& first, const Prover& prover, Row& row);

}  // namespace weft
