#include "sim/cli/commands.hpp"
#include "sim/cli/runner.hpp"
#include "sim/results/describe.hpp"
#include "sim/results/progress.hpp"
#include "sim/results/table.hpp"
#include "sim/results/writers.hpp"
#include "sim/simulate.hpp"

#include <algorithm>
#include <chrono>
#include <ostream>

namespace weft {
namespace {

Row simulated_row(const RowRequest& request, std::vector<MessageRecord>* messages) {
  const Scenario& scenario = *request.scenario;
  const Outcome outcome = simulate(scenario, *request.algorithm, request.size, messages);
  std::vector<CopyResult> copies;
  for (const CopyRecord& c : outcome.copies) copies.push_back({c.endpoint, c.to_host, c.count, Bytes{c.bytes}, c.busy});
  return {.scenario = scenario.name,
          .fabric = std::string(type_name(scenario.fabric.spec)),
          .network = scenario.network,
          .algorithm = label(*request.algorithm),
          .collective = scenario.workload.collective,
          .ranks = outcome.ranks,
          .size = outcome.size,
          .dtype = scenario.workload.dtype,
          .op = scenario.workload.op,
          .root = scenario.workload.root,
          .time = outcome.time,
          .wire_bytes_per_rank = Bytes{outcome.wire_bytes_per_rank},
          .messages = outcome.messages,
          .steps = outcome.steps,
          .max_flows_per_link = outcome.max_flows_per_link,
          .most_shared_link = outcome.most_shared_link,
          .most_shared_step = outcome.most_shared_step,
          .busiest_link = outcome.busiest_link,
          .busiest_link_utilization = outcome.busiest_link_utilization,
          .wall_s = outcome.wall_s,
          .bottleneck = slowest_endpoint(scenario),
          .aggregates = outcome.aggregates,
          .copies = copies,
          .jobs = outcome.jobs,
          .traffic = outcome.traffic,
          .in_network = outcome.in_network,
          .packet = outcome.packet};
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

}  // namespace

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
  if (arguments.trace && arguments.output.empty()) throw InputError("--trace: needs -o DIR, where trace.json goes");
  const std::vector<Case> cases = load_all(arguments.scenarios);
  if (!arguments.output.empty()) prepare_output(arguments.output);
  const std::vector<RowRequest> requests = rows_of(cases);

  Progress progress(requests.size(), !arguments.quiet);
  auto written = std::chrono::steady_clock::now();
  const auto on_done = [&](const Result& last, const std::vector<Result>& so_far) {
    progress.done(label(last.request, cases));
    constexpr std::chrono::seconds between{5};  // what is done survives a run that is killed
    if (arguments.output.empty() || std::chrono::steady_clock::now() - written < between) return;
    write_results(arguments.output, so_far, cases);
    written = std::chrono::steady_clock::now();
  };
  const auto on_wait = [&](const RowRequest& request, RunProgress::Reached reached) {
    progress.under_way(fmt::format("{}: {:.3f} us, {} events", label(request, cases), reached.now.microseconds(), reached.events));
  };
  const std::vector<Result> results =
      run_rows(requests, cases, simulated_row, {.trace = arguments.trace, .on_done = on_done, .on_wait = on_wait});
  progress.clear();

  out << to_table(results, cases) << std::flush;
  if (!arguments.output.empty()) write_results(arguments.output, results, cases);
  return report(results, cases, err);
}

}  // namespace weft
