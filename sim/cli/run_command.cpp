#include "sim/cli/calibrated.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/runner.hpp"
#include "sim/experiment.hpp"
#include "sim/results/progress.hpp"
#include "sim/results/result_folder.hpp"
#include "sim/results/table.hpp"
#include "sim/results/writers.hpp"
#include "sim/scenario/describe.hpp"
#include "sim/scenario/networks.hpp"
#include "sim/scenario/profiles.hpp"

#include <algorithm>
#include <chrono>
#include <ostream>
#include <set>
#include <utility>

namespace weft {

namespace {

Row simulated(const RowRequest& request, Timeline* timeline, const Prover& prover) {
  return simulate(scenario_of(request), *request.algorithm, request.size,
                  {.timeline = timeline ? &timeline->messages : nullptr, .spans = timeline ? &timeline->spans : nullptr}, prover);
}

// What went wrong, and the exit status.
int report(const std::vector<Result>& results, const std::vector<Case>& cases, std::ostream& err) {
  int status = exit_ok;
  std::size_t not_run = 0;
  for (const Result& result : results) {
    if (result.row) {
      if (const std::string warning = too_fast(*result.row); !warning.empty())
        err << "weft: warning: " << label(result.request, cases) << ": " << warning << "\n";
    } else if (result.failure == interrupted_row) {
      ++not_run;
    } else {
      err << "weft: " << label(result.request, cases) << ": " << result.failure << "\n";
      status = std::max<int>(status, result.bad_input ? exit_bad_input : exit_run_failed);
    }
  }
  if (not_run > 0) err << fmt::format("weft: interrupted; {} of {} rows were not simulated\n", not_run, results.size());
  return not_run > 0 ? exit_run_failed : status;
}

ResultFolderOptions options_of(const RunArguments& arguments) {
  ResultFolderOptions out{.trace = arguments.trace, .force = arguments.force};
  for (const std::string& file : arguments.scenarios.files) out.inputs.emplace_back(file);
  return out;
}

std::string write_or_why(const ResultFolder& folder, const std::vector<Result>& results) {
  try {
    folder.write(results);
    return "";
  } catch (const RunError& error) {
    return error.what();
  }
}

// A trace without a message would look like a run without one.
void refuse_untraced(const std::vector<Case>& cases) {
  std::set<std::string> problems;
  for (const Case& one : cases) {
    if (const NetworkTraits& network = traits_of(one.scenario.network); !network.timeline)
      problems.insert(fmt::format("--trace: the network \"{}\" does not record messages; {} do", network.name,
                                  networks_that(&NetworkTraits::timeline)));
    const auto& algorithms = one.scenario.workload.algorithms;
    if (std::ranges::all_of(algorithms, [](const AlgorithmChoice& a) { return is_in_network(a.name); }))
      problems.insert(
          fmt::format("--trace: {} has in-network algorithms only, which have no messages of a schedule to record", one.scenario.name));
  }
  if (!problems.empty()) throw InputError(std::vector<std::string>(problems.begin(), problems.end()));
}

// How the profile of a name was come by, where one of these scenario files finds it.
std::function<Json(const std::string&)> calibrations_beside(const std::vector<std::string>& files) {
  return [&files](const std::string& name) {
    for (const std::string& file : files)
      if (Json json = ProfileLibrary::beside(file).calibration(name); json.is_object()) return json;
    return Json();
  };
}

}  // namespace

Row simulated_row(const RowRequest& request, Timeline* timeline) { return simulated(request, timeline, Prover()); }

std::vector<Case> load_all(const ScenarioArguments& arguments) {
  std::vector<Setting> settings;
  for (const std::string& text : arguments.set) settings.push_back(parse_setting(text));
  if (!arguments.network.empty()) settings.push_back({"/network", arguments.network});
  std::vector<Case> cases;
  std::vector<std::string> problems;
  for (const std::string& file : arguments.files) {
    try {
      for (Case& one : load_cases(file, settings)) cases.push_back(std::move(one));
    } catch (const InputError& error) {
      problems.insert(problems.end(), error.problems().begin(), error.problems().end());
    }
  }
  if (!problems.empty()) throw InputError(problems);
  return cases;
}

int run_command(const RunArguments& arguments, std::ostream& out, std::ostream& err) {
  if (arguments.trace && !arguments.output) throw InputError("--trace: needs -o DIR, where trace.json goes");
  if (arguments.force && !arguments.output) throw InputError("--force: needs -o DIR, where it replaces files");
  const std::vector<Case> cases = load_all(arguments.scenarios);
  refuse_beyond_limits(cases);
  if (arguments.trace) refuse_untraced(cases);
  std::optional<ResultFolder> folder;
  if (arguments.output) folder.emplace(*arguments.output, cases, options_of(arguments));
  const std::vector<RowRequest> requests = rows_of(cases);

  Progress progress(requests.size(), !arguments.quiet);
  bool warned = false;
  auto written = std::chrono::steady_clock::now();
  const auto on_done = [&](const Result& last, const std::vector<Result>& so_far) {
    progress.done(label(last.request, cases));
    constexpr std::chrono::seconds between{5};  // what is done survives a run that is killed
    if (!folder || std::chrono::steady_clock::now() - written < between) return;
    if (const std::string why = write_or_why(*folder, so_far); !why.empty() && !std::exchange(warned, true)) {
      progress.clear();
      err << "weft: warning: " << why << "; the run goes on, and tries again\n" << std::flush;
    }
    written = std::chrono::steady_clock::now();
  };
  const auto on_wait = [&](const RowUnderWay& row) {
    progress.under_way(row_under_way(label(row.request, cases), row.wall, row.reached.now));
  };
  const auto run_row = [&](const RowRequest& request, Timeline* timeline) {
    try {
      return simulated(request, timeline, Prover(arguments.unproved ? Unprovable::is_noted : Unprovable::is_refused));
    } catch (const CannotBeProved& why) {
      throw RunError(fmt::format("{}; \"weft run --unproved\" simulates it without a proof", why.what()));
    }
  };
  const std::vector<Result> results =
      run_rows(requests, cases, run_row, {.trace = arguments.trace, .on_done = on_done, .on_wait = on_wait});
  progress.clear();

  const std::string not_written = folder ? write_or_why(*folder, results) : "";  // first: whoever reads the table may be gone
  out << to_table(results, cases) << calibration_notes(results, cases, calibrations_beside(arguments.scenarios.files)) << std::flush;
  const int status = report(results, cases, err);
  if (not_written.empty()) return status;
  err << "weft: " << not_written << "; the table has the rows\n";
  return std::max<int>(status, exit_run_failed);
}

}  // namespace weft
