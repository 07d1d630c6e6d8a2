// What would be gained if what limits a row were twice as fast: the row is simulated again with that.
#pragma once

#include "sim/repeated.hpp"
#include "sim/results/row.hpp"
#include "sim/scenario/scenario.hpp"

namespace weft {

struct WhatIfOptions {
  int resources = 1;  // how many of those that limit the row, the largest share first
  RepeatOptions runs = {};
};

// How many times a row is simulated at most, the first time included.
constexpr int runs_of_what_if(int resources) { return 2 + 2 * resources; }

// Sets row.what_if: for each of the links that its critical path names (where it has none, its busiest link) the time with that link twice
// as fast, with all that are like it, and with all links; for reduce engines and rate caps with all of them. NCCL keeps the algorithm and
// the protocol of the row. `row` is of this scenario and algorithm. On networks that run once in a process, each run has one of its own,
// and this one must not have run any.
void add_what_if(const Scenario& scenario, const AlgorithmChoice& algorithm, Bytes size, const WhatIfOptions& options, Row& row);

}  // namespace weft
