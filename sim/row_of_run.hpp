// From a run to the row of its result.
#pragma once

#include "sim/placed_job.hpp"
#include "sim/results/row.hpp"
#include "sim/shared_run.hpp"

#include <vector>

namespace weft {

// A job that has run, alone or among others.
struct SimulatedJob {
  const PlacedJob& job;
  Bytes size;  // of the row
  const JobRun& own;
  const SharedRun& all;
  const Fabric& fabric;
};

SimTime mean_time(const std::vector<Iteration>& iterations);
SimTime first_begin(const SharedRun& run);  // of any job

// By link, over the whole run: bytes carried / (capacity x time), the capacity that failures left it.
std::vector<double> utilization_of_links(const SharedRun& run, const Fabric& fabric, const Scenario& scenario);
void name_busiest(const std::vector<double>& utilization, const Fabric& fabric, Row& row);

// Of a job of a shared network, which takes `alone` without the others.
JobResult result_of(const SimulatedJob& j, SimTime alone);
// Of the workload, the first of the jobs; what the run says of others and of packets is still to be added.
Row row_of(const Scenario& scenario, const SimulatedJob& j);

}  // namespace weft
