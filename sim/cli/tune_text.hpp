// What a tuning run prints and writes.
#pragma once

#include "sim/cli/tune_command.hpp"
#include "sim/cli/tune_run.hpp"

namespace weft {

// "1234.5 samples/s" or "567.8 us".
std::string objective_text(const TunableScenario& scenario, double objective);

// Above the table: what is chosen, how, from how many points.
std::string tune_heading(const TunableScenario& scenario, const TuneArguments& arguments);
// Each evaluation that found something better, and the best settings.
std::string tune_table(const TunableScenario& scenario, const TuneRun& run);

// The best point as a scenario file, to be put into `folder`.
std::string best_scenario(const TunableScenario& scenario, const TuneRun& run, const std::filesystem::path& folder);
bool is_best_scenario(std::string_view text);

// tune.json: what was searched and how, by which --resume knows that it is the same.
std::string tune_provenance(const TunableScenario& scenario, const TuneArguments& arguments);
bool is_tune_provenance(std::string_view text);
// The scenario's name; empty for what is none.
std::string scenario_of_tune(std::string_view provenance);

// --compare: evaluations that each method needs to come within 5 % of the best of all points.
std::string compare_methods(const TunableScenario& scenario, const TuneArguments& arguments, Evaluator& evaluator);

}  // namespace weft
