#include "kernels/base/gather.hpp"
#include "kernels/files/files.hpp"
#include "sim/cases/describe.hpp"
#include "sim/cli/calibrated.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/job_of_ranks.hpp"
#include "sim/cli/runner.hpp"
#include "sim/engine/in_child.hpp"
#include "sim/experiment.hpp"
#include "sim/repeated.hpp"
#include "sim/report/details.hpp"
#include "sim/report/report.hpp"
#include "sim/results/progress.hpp"
#include "sim/results/result_folder.hpp"
#include "sim/results/row_journal.hpp"
#include "sim/results/table.hpp"
#include "sim/results/terminal.hpp"
#include "sim/results/writers.hpp"
#include "sim/scenario/networks.hpp"
#include "sim/scenario/profiles.hpp"
#include "sim/what_if.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <ostream>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include <unistd.h>

namespace weft {

Row simulated_row_by(const RowRequest& request, Timeline* timeline, const RepeatOptions& options) {
  const Scenario scenario = scenario_of(request);
  if (scenario.repeat) return simulate_repeated(scenario, *request.algorithm, request.size, options, timeline);
  return simulate(scenario, *request.algorithm, request.size, {.timeline = timeline}, Prover(options.unprovable));
}

namespace {

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

// What the results depend on, without where they go.
std::vector<std::string> asked_for(const RunArguments& arguments) {
  std::vector<std::string> out = arguments.scenarios.files;
  for (const std::string& setting : arguments.scenarios.set) out.insert(out.end(), {"--set", setting});
  if (!arguments.scenarios.network.empty()) out.insert(out.end(), {"--network", arguments.scenarios.network});
  if (arguments.what_if > 0) out.push_back(fmt::format("--what-if={}", arguments.what_if));
  if (arguments.unproved) out.emplace_back("--unproved");
  return out;
}

std::string details_text(const RunArguments& arguments, const std::vector<Case>& cases, const std::vector<Result>& results) {
  std::vector<std::string> rows;
  for (const Result& result : results)
    if (result.row) rows.push_back(result.details);
  return to_details({names_of(cases), asked_for(arguments)}, rows);
}

ResultFolderOptions options_of(const RunArguments& arguments, const std::vector<Case>& cases) {
  ResultFolderOptions out{.trace = arguments.trace, .force = arguments.force};
  const auto details = [&](const std::vector<Result>& results) { return details_text(arguments, cases, results); };
  out.extra = {{"details.json", arguments.report, is_details_of, details},
               {"report.html", arguments.report, is_report_of,
                [&cases, details](const std::vector<Result>& results) { return report_page(to_json(results, cases), details(results)); }}};
  for (const std::string& file : arguments.scenarios.files) out.inputs.emplace_back(file);
  return out;
}

// What keeps files from being written; "" where they are.
template <class Write>
std::string why_not(const Write& write) {
  try {
    write();
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

// A pipe or file gets what fits every terminal.
TableStyle style_of_output() {
  constexpr std::size_t narrow = 80;
  return {.width = std::max(narrow, terminal_width(STDOUT_FILENO).value_or(narrow)), .colour = terminal_has_colour(STDOUT_FILENO)};
}

std::string text_of(RunFormat format, const std::vector<Result>& results, const std::vector<Case>& cases,
                    const std::vector<std::string>& files) {
  switch (format) {
    case RunFormat::csv:
      return to_csv(results, cases);
    case RunFormat::json:
      return to_json(results, cases);
    case RunFormat::markdown:
      return to_markdown(results, cases);
    case RunFormat::table:
      break;
  }
  const TableStyle style = style_of_output();
  return to_table(results, cases, style) + wrapped(calibration_notes(results, cases, calibrations_beside(files)), style.width);
}

// Scenarios among the values of --program, which takes all that follows it.
void take_scenarios(ProgramFiles& program, std::vector<std::string>& scenarios) {
  std::erase_if(program.files, [&](const std::string& file) {
    std::error_code error;
    constexpr std::uintmax_t most = 1 << 20;
    if (!file.ends_with(".json") || std::filesystem::file_size(file, error) > most || error) return false;
    const Json json = Json::parse(read_file(file), nullptr, false);
    const bool is_scenario = json.is_object() && json.contains("fabric") && json.contains("workload");
    if (is_scenario) scenarios.push_back(file);
    return is_scenario;
  });
}

}  // namespace

RunFormat run_format(const std::string& name) {
  static const std::vector<std::string> names = {"table", "csv", "json", "markdown"};  // in the order of RunFormat
  const auto at = std::ranges::find(names, name);
  if (at == names.end()) throw InputError("--format: " + unknown_name("format", name, names));
  return static_cast<RunFormat>(at - names.begin());
}

std::vector<Case> load_all(const ScenarioArguments& arguments) {
  std::vector<std::string> problems;
  std::vector<Setting> settings = parse_settings(arguments.set, problems);
  if (!arguments.network.empty()) settings.push_back({"/network", arguments.network});
  std::vector<Case> cases;
  ProgramFiles program = arguments.program;
  std::vector<std::string> files = arguments.files;
  take_scenarios(program, files);
  if (program.files.empty() && !arguments.program.files.empty())
    throw InputError(fmt::format("--program: names no trace: {} {}", fmt::join(arguments.program.files, ", "),
                                 arguments.program.files.size() == 1 ? "is a scenario" : "are scenarios"));
  if (program.files.empty() && (program.lenient || program.ranks > 0)) throw InputError("--lenient and --ranks go with --program");
  if (files.empty() && program.files.empty()) throw InputError("FILE: is missing: name a scenario");
  if (files.empty()) gather(problems, [&] { cases = cases_of_program(program, settings); });
  for (const std::string& file : files)
    gather(problems, [&] {
      for (Case& one : load_cases(file, settings, program)) cases.push_back(std::move(one));
    });
  if (!problems.empty()) throw InputError(problems);
  return cases;
}

namespace {

Row row_with_what_if(const RowRequest& request, Timeline* timeline, const WhatIfOptions& options) {
  const Scenario scenario = scenario_of(request);
  run_progress().next_run(0, runs_of_what_if(options.resources));
  Row out = traits_of(scenario.network).runs_again
                ? simulated_row_by(request, timeline, options.runs)
                : row_from_text(in_child([&] { return to_text(simulated_row_by(request, nullptr, options.runs)); }));
  add_what_if(scenario, *request.algorithm, request.size, options, out);
  return out;
}

// How a row of so many is simulated by so many processes (0: one for each core): those that have no row are for the runs of one that is
// repeated.
RunRow run_of_row(std::size_t rows, unsigned workers, const RunArguments& arguments) {
  const unsigned most = workers > 0 ? workers : std::max(1U, std::thread::hardware_concurrency());
  const unsigned processes = std::max<unsigned>(1, most / static_cast<unsigned>(std::clamp<std::size_t>(rows, 1, most)));
  const RepeatOptions options{.processes = processes, .unprovable = arguments.unproved ? Unprovable::is_noted : Unprovable::is_refused};
  return [options, what_if = arguments.what_if, reproducible = arguments.reproducible](const RowRequest& request, Timeline* timeline) {
    try {
      Row out = what_if > 0 ? row_with_what_if(request, timeline, {what_if, options}) : simulated_row_by(request, timeline, options);
      if (reproducible) out.wall_s = 0;
      return out;
    } catch (const CannotBeProved& why) {
      throw RunError(fmt::format("{}; \"weft run --unproved\" simulates it without a proof", why.what()));
    }
  };
}

// The rows of a run, as far as they have come, on their way to files and to the terminal.
class Run {
 public:
  Run(const RunArguments& arguments, const std::vector<Case>& cases, std::ostream& err)
      : arguments_(arguments), cases_(cases), err_(err), requests_(rows_of(cases)) {
    if (!arguments.output) return;
    folder_.emplace(*arguments.output, cases, options_of(arguments, cases));
    journal_.emplace(*arguments.output, names_of(cases), arguments.resume, arguments.what_if);
    if (!arguments.resume) return;
    known_ = journal_->known(requests_, {.trace = arguments.trace, .details = arguments.report});
    const auto count = std::ranges::count_if(known_, [](const Result& result) { return result.row.has_value(); });
    err << fmt::format("weft: {} of {} rows are in {} already\n", count, requests_.size(), *arguments.output) << std::flush;
  }

  std::vector<Result> simulate(Farm* farm, unsigned workers) {
    const auto known = std::ranges::count_if(known_, [](const Result& result) { return result.row.has_value(); });
    Progress progress(requests_.size() - static_cast<std::size_t>(known), !arguments_.quiet);
    const auto on_done = [&](const Result& last, const std::vector<Result>& so_far) {
      progress.done(label(last.request, cases_));
      if (const std::string why = keep(last, so_far); !why.empty() && !std::exchange(warned_, true)) {
        progress.clear();
        err_ << "weft: warning: " << why << "; the run goes on, and tries again\n" << std::flush;
      }
    };
    const auto on_wait = [&](const RowUnderWay& row) {
      progress.under_way(row_under_way(label(row.request, cases_), row.wall, row.reached));
    };
    for (Result& result : known_)
      if (result.row && arguments_.reproducible) result.row->wall_s = 0;
    std::vector<Result> results = run_rows(requests_, cases_, run_of_row(requests_.size(), workers, arguments_),
                                           {.workers = workers,
                                            .trace = arguments_.trace,
                                            .details = arguments_.report,
                                            .on_done = on_done,
                                            .on_wait = on_wait,
                                            .known = known_.empty() ? nullptr : &known_,
                                            .farm = farm});
    progress.clear();
    return results;
  }

  // At the end. What could not be written; "" where all is.
  std::string write(const std::vector<Result>& results) {
    if (!folder_) return "";
    const bool whole = std::ranges::none_of(results, [](const Result& r) { return r.failure == interrupted_row; });
    return why_not([&] {
      if (folder_->write(results, whole)) {
        if (whole) journal_->finish(requests_);
        if (!folder_->removed().empty())
          err_ << fmt::format("weft: removed what an earlier run has left in {}: {}\n", *arguments_.output,
                              fmt::join(folder_->removed(), ", "));
      } else if (!whole) {
        err_ << fmt::format("weft: {} keeps its earlier results, which have more rows; --resume goes on with what is done\n",
                            *arguments_.output);
      }
    });
  }

 private:
  // A row that is done survives a run that is killed.
  std::string keep(const Result& last, const std::vector<Result>& so_far) {
    if (!folder_) return "";
    std::string why = why_not([&] { journal_->add(static_cast<std::size_t>(&last - so_far.data()), last); });
    constexpr std::chrono::seconds between{5};
    if (std::chrono::steady_clock::now() - written_ < between) return why;
    if (const std::string also = why_not([&] { folder_->write(so_far, false); }); why.empty()) why = also;
    written_ = std::chrono::steady_clock::now();
    return why;
  }

  const RunArguments& arguments_;
  const std::vector<Case>& cases_;
  std::ostream& err_;
  std::vector<RowRequest> requests_;
  std::optional<ResultFolder> folder_ = {};
  std::optional<RowJournal> journal_ = {};
  std::vector<Result> known_ = {};
  bool warned_ = false;
  std::chrono::steady_clock::time_point written_ = std::chrono::steady_clock::now();
};

}  // namespace

int run_command(const RunArguments& arguments, std::ostream& out, std::ostream& err) {
  std::vector<std::string> problems;
  for (const auto& [given, flag, what] : {std::tuple{arguments.trace, "--trace", "where trace.json goes"},
                                          {arguments.report, "--report", "where report.html goes"},
                                          {arguments.force, "--force", "where it replaces files"},
                                          {arguments.resume, "--resume", "where the earlier run has left its rows"}})
    if (given && !arguments.output) problems.push_back(fmt::format("{}: needs -o DIR, {}", flag, what));
  RunFormat format = RunFormat::table;
  std::vector<Case> cases;
  gather(problems, [&] { format = run_format(arguments.format); });
  if (arguments.report) gather(problems, require_report);
  gather(problems, [&] { cases = load_all(arguments.scenarios); });
  if (arguments.trace) gather(problems, [&] { refuse_untraced(cases); });
  gather(problems, [&] { refuse_beyond_limits(cases); });
  if (!problems.empty()) throw InputError(std::move(problems));
  JobOfRanks job(arguments.output.value_or(""), "-o DIR");
  if (job.helps())
    return job.help(err, [&](Farm& farm, unsigned workers) {
      const std::vector<RowRequest> requests = rows_of(cases);
      run_rows(requests, cases, run_of_row(requests.size(), workers, arguments),
               {.workers = workers, .trace = arguments.trace, .details = arguments.report, .farm = &farm});
    });

  Run run(arguments, cases, err);
  const std::vector<Result> results = run.simulate(job.lead(), job.workers());
  const std::string not_written = run.write(results);  // first: whoever reads the table may be gone
  out << text_of(format, results, cases, arguments.scenarios.files) << std::flush;
  job.tell(err);
  const int status = report(results, cases, err);
  if (not_written.empty()) return status;
  err << "weft: " << not_written << "; the table has the rows\n";
  return std::max<int>(status, exit_run_failed);
}

}  // namespace weft
