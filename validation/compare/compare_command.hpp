// `weft bench --compare SCENARIO`: what weft_bench measures, beside the simulation of the same on a scenario's cluster.
#pragma once

#include "collectives/bench/settings/settings.hpp"
#include "sim/scenario/scenario.hpp"

#include <iosfwd>

namespace weft {

// Whether --compare stands among the arguments of `weft bench`; argv[0] is "bench".
bool asks_to_compare(int argc, const char* const* argv);

// Throws InputError with all that is wrong with the arguments and with the scenario, before anything is measured. Returns
// the exit status of weft_bench where that is not 0.
int compare_command(int argc, const char* const* argv, std::ostream& out);

// The scenario's cluster with the workload that the settings measure; what a library runs by itself is left out. Throws
// InputError.
Scenario scenario_of(const bench::Settings& settings);

}  // namespace weft
