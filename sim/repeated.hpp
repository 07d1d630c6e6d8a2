// A row that stands for several runs with other random choices: "repeat" in a scenario.
#pragma once

#include "sim/network/timeline.hpp"
#include "sim/prover.hpp"
#include "sim/results/row.hpp"
#include "sim/scenario/scenario.hpp"

#include <span>

namespace weft {

// The value below which this share of the sorted `times` lies, between two of them in proportion (as numpy.percentile says), rounded to a
// picosecond.
SimTime quantile(std::span<const SimTime> times, double share);

// All runs of the scenario's "repeat", of which it must have one, spread over so many processes. The row's time is their median, of
// two in the middle the shorter, with the 5th and 95th percentile; all else in it, and the timeline, is of the first run with that time,
// but for these percentiles of each job beside it. Which process simulates a run does not change it. Throws what a run throws.
struct RepeatOptions {
  unsigned processes = 1;
  Unprovable unprovable = Unprovable::is_refused;
};
Row simulate_repeated(const Scenario& scenario, const AlgorithmChoice& algorithm, Bytes size, const RepeatOptions& options = {},
                      Timeline* timeline = nullptr);
// The median alone, on another cluster than the scenario's (Experiment).
SimTime median_of_runs(const Scenario& scenario, const AlgorithmChoice& algorithm, Bytes size, const RepeatOptions& options,
                       std::shared_ptr<const Fabric> cluster);

}  // namespace weft
