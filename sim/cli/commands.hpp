// What each command of `weft` does. Input that cannot be used is an InputError; the result is the exit status.
#pragma once

#include "sim/network/network_run.hpp"
#include "sim/results/row.hpp"
#include "sim/scenario/cases.hpp"
#include "sim/scenario/plan.hpp"

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace weft {

enum ExitStatus : int { exit_ok = 0, exit_run_failed = 1, exit_bad_input = 2 };

struct ScenarioArguments {
  std::vector<std::string> files;
  std::vector<std::string> set;  // "/pointer=value"
  std::string network;           // empty: the scenario's
};

// Throws InputError with what keeps rows from running on their network where its limits depend on their schedules.
void refuse_beyond_limits(const std::vector<Case>&);

// The cases of all files; throws InputError with the problems of all files.
std::vector<Case> load_all(const ScenarioArguments&);

struct RunArguments {
  ScenarioArguments scenarios;
  std::optional<std::string> output = {};
  bool trace = false, force = false;
  bool unproved = false;  // go on where a schedule cannot be proved
  bool quiet = false;
};

// One row in SimGrid's engine: for a process of its own (run_rows).
Row simulated_row(const RowRequest& request, Timeline* timeline);

int run_command(const RunArguments&, std::ostream& out, std::ostream& err);
int check_command(const ScenarioArguments&, std::ostream& out);

enum class TopologyFormat { summary, dot, json, simgrid };
int topo_command(const ScenarioArguments&, TopologyFormat, std::ostream& out);

int show_command(const ScenarioArguments&, std::ostream& out);
int list_command(std::ostream& out);
int schema_command(bool of_results, std::ostream& out);

}  // namespace weft
