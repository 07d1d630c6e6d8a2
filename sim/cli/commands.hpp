// What each command of `weft` does. Input that cannot be used is an InputError; the result is the exit status.
#pragma once

#include "sim/cases/cases.hpp"
#include "sim/cases/plan.hpp"
#include "sim/network/timeline.hpp"
#include "sim/repeated.hpp"
#include "sim/results/row.hpp"

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
  ProgramFiles program = {};     // instead of their workloads
};

// Throws InputError with what keeps rows from running on their network where its limits depend on their schedules.
void refuse_beyond_limits(const std::vector<Case>&);

// The cases of all files; throws InputError with the problems of all files.
std::vector<Case> load_all(const ScenarioArguments&);

// What goes to the standard output.
enum class RunFormat { table, csv, json, markdown };

constexpr int max_what_if = 16;  // of the resources that a row names

struct RunArguments {
  ScenarioArguments scenarios;
  std::string format = "table";
  std::optional<std::string> output = {};
  bool trace = false, report = false, force = false;
  bool resume = false, reproducible = false;
  int what_if = 0;        // of how many resources that limit a row it says what would be gained if they were faster
  bool unproved = false;  // go on where a schedule cannot be proved
  bool quiet = false;
};

// One row in SimGrid's engine: for a process of its own (run_rows). Where it stands for several runs, that process may start further ones
// until so many simulate.
Row simulated_row_by(const RowRequest& request, Timeline* timeline, const RepeatOptions& options);
inline Row simulated_row(const RowRequest& request, Timeline* timeline) { return simulated_row_by(request, timeline, {}); }

// Throws InputError where there is no such format.
RunFormat run_format(const std::string& name);
int run_command(const RunArguments&, std::ostream& out, std::ostream& err);

struct ReportArguments {
  std::string folder;
  std::optional<std::string> output = {};  // instead of report.html in the folder
  bool force = false;
};
// Writes report.html from the results that are in the folder.
int report_command(const ReportArguments&, std::ostream& out);
int check_command(const ScenarioArguments&, std::ostream& out);

enum class TopologyFormat { summary, dot, svg, json, simgrid, nccl };
// `err`: what the format cannot say of the fabric.
int topo_command(const ScenarioArguments&, TopologyFormat, std::ostream& out, std::ostream& err);

int show_command(const ScenarioArguments&, std::ostream& out);
int list_command(std::ostream& out);
int schema_command(bool of_results, std::ostream& out);

}  // namespace weft
