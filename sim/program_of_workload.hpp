// From a scenario's program to one that can be run.
#pragma once

#include "models/program.hpp"
#include "sim/prover.hpp"
#include "sim/scenario/scenario.hpp"

namespace weft {

// Where its ranks sit: what depends on the size of a collective is chosen for the ways between them. And what proves its schedules.
struct ProgramSite {
  const Fabric& fabric;
  const std::vector<int>& placement;  // rank -> endpoint
  Prover& prover;
};

// `row`: the algorithm of collectives that name none. Throws RunError when a schedule is wrong.
Program program_of_workload(const Scenario& scenario, const AlgorithmChoice& row, const ProgramSite& site);

}  // namespace weft
