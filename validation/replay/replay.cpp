#include "validation/replay/replay.hpp"

#include "kernels/base/gather.hpp"
#include "kernels/files/files.hpp"
#include "kernels/files/output_files.hpp"
#include "sim/cases/cases.hpp"
#include "sim/cases/training_check.hpp"
#include "sim/experiment.hpp"
#include "sim/scenario/networks.hpp"
#include "validation/fit/fit.hpp"
#include "validation/measurements/renames.hpp"

#include <algorithm>
#include <iostream>
#include <set>

namespace weft {
namespace {

struct Span {
  SimTime start = SimTime::never(), end{INT64_MIN};
  void add(const Interval& i) { start = std::min(start, i.start), end = std::max(end, i.end); }
  double us() const { return (end - start).microseconds(); }
};

}  // namespace

ReplayResult replay(const ReplayPlan& plan, const Scenario& scenario) {
  std::vector<OperationRecord> records;
  Experiment experiment(scenario, plan.program, "the trace");
  experiment.run({}, {.operations = &records, .each_alone = false});
  const auto ranks = static_cast<std::size_t>(plan.program.ranks);
  std::vector<std::optional<Interval>> times(plan.operations.size() * ranks);
  for (const OperationRecord& r : records)
    if (const Operation& o = plan.program.of_rank(r.rank)[static_cast<std::size_t>(r.operation)]; o.is_call())
      times[static_cast<std::size_t>(o.call) * ranks + static_cast<std::size_t>(r.rank)] = {r.begin, r.end};

  ReplayResult result{.name = plan.name, .operations = {}, .measured_us = {}, .simulated_us = 0};
  Span all_measured, all_simulated;
  for (std::size_t i = 0; i < plan.operations.size(); ++i) {
    const ReplayOperation& o = plan.operations[i];
    Span measured, simulated;
    SimTime last_start{INT64_MIN};
    const bool compared = std::ranges::any_of(o.measured, [](const auto& m) { return m.has_value(); });
    for (std::size_t r = 0; r < o.measured.size(); ++r) {
      const auto& ran = times[i * ranks + r];
      if (o.measured[r]) {
        measured.add(*o.measured[r]), all_measured.add(*o.measured[r]);
        last_start = std::max(last_start, o.measured[r]->start);
      }
      if (ran && (o.measured[r] || !compared)) simulated.add(*ran);  // ranks that took no part are not compared
      if (ran) all_simulated.add(*ran);
    }
    result.operations.push_back({.name = o.name, .bytes = o.bytes, .measured_us = {}, .simulated_us = simulated.us()});
    if (compared) result.operations.back().measured_us = measured.us();
    if (compared) result.operations.back().late_us = (last_start - measured.start).microseconds();
  }
  if (all_measured.start != SimTime::never()) result.measured_us = all_measured.us();
  result.simulated_us = all_simulated.us();
  return result;
}

namespace {

constexpr std::string_view csv_header = "run,operation,size_bytes,measured_us,simulated_us\n";

void print_row(const std::string& name, std::optional<std::int64_t> bytes, std::optional<double> measured_us, double simulated_us,
               std::ostream& out) {
  out << fmt::format("  {:<34} {:>12} {:>14} {:>14.2f} {:>10}\n", name, bytes ? fmt::format("{}", *bytes) : "-",
                     measured_us ? fmt::format("{:.2f}", *measured_us) : "-", simulated_us,
                     measured_us && *measured_us > 0 ? fmt::format("{:+.1f} %", 100 * (simulated_us / *measured_us - 1)) : "-");
}

void print(const ReplayResult& result, const TraceRun& run, std::ostream& out) {
  constexpr std::size_t max_rows = 40;
  out << fmt::format("# {}, {} operations\n# {:<34} {:>12} {:>14} {:>14} {:>10}\n", result.name, result.operations.size(), "operation",
                     "size (B)", "measured (us)", "simulated (us)", "error");
  std::vector<double> errors;
  for (std::size_t i = 0; i < result.operations.size(); ++i) {
    const ReplayedOperation& o = result.operations[i];
    if (i < max_rows) print_row(o.name, o.bytes, o.measured_us, o.simulated_us, out);
    if (o.measured_us && *o.measured_us > 0) errors.push_back(o.simulated_us / *o.measured_us - 1);
  }
  if (result.operations.size() > max_rows)
    out << fmt::format("# ... and {} more; -o FILE writes them all\n", result.operations.size() - max_rows);
  print_row("total", run.size_bytes > 0 ? std::optional(run.size_bytes) : std::nullopt, result.measured_us, result.simulated_us, out);
  if (!errors.empty()) {
    const ErrorSummary e = summarise(errors);
    out << fmt::format("# per operation: median error {:.1f} %, 95th percentile {:.1f} %\n", 100 * e.median, 100 * e.p95);
  }
  const auto late =
      std::ranges::count_if(result.operations, [](const ReplayedOperation& o) { return o.measured_us && o.late_us > *o.measured_us / 2; });
  if (late > 0)
    out << fmt::format(
        "# in {} of {} operations a rank began only in the second half of what was measured, and begins then here too: little of their "
        "error is of the network\n",
        late, errors.size());
  if (!run.times_us.empty()) {
    std::vector<double> times = run.times_us;
    std::ranges::sort(times);
    out << fmt::format("# {} calls that were not traced took {:.2f} us at the median\n", times.size(), times[times.size() / 2]);
  }
}

}  // namespace

namespace {

// A trace says when ranks start, and how often.
void refuse_what_a_trace_says(const std::string& file, const Scenario& scenario) {
  std::vector<Problem> out;
  if (scenario.start_skew) out.push_back({"/start_skew", "the trace says when its ranks start: leave it out"});
  if (scenario.repeat) out.push_back({"/repeat", "a trace is replayed once: leave it out"});
  if (scenario.workload.iterations > 1) out.push_back({"/workload/iterations", "a trace is replayed once: leave it out"});
  if (const NetworkTraits& network = traits_of(scenario.network); !network.programs || !network.timeline)
    out.push_back({"/network", fmt::format("\"{}\" does not tell when each operation began and ended; {} do", network.name,
                                           networks_that(&NetworkTraits::timeline))});
  if (!out.empty()) throw InputError(lines_of(file, out));
}

void refuse_output(const ReplayArguments& a) {
  if (a.output.empty()) return;
  refuse_to_replace(
      {{a.output, "-o " + a.output, "a table of weft replay", [](std::string_view text) { return text.starts_with(csv_header); }}},
      {a.trace, a.scenario}, a.force);
  refuse_missing_folder("-o " + a.output, a.output);
}

// One case.
std::vector<Case> cluster_of(const ReplayArguments& a, const std::vector<Setting>& settings) {
  std::vector<Case> cases = load_cases(a.scenario, settings);
  if (cases.size() != 1)
    throw InputError(fmt::format("{}: a scenario of one case is needed here, its sweep makes {}", a.scenario, cases.size()));
  const Scenario& scenario = cases.front().scenario;
  refuse_training(a.scenario, scenario);
  refuse_what_a_trace_says(a.scenario, scenario);
  return cases;
}

// What renames nothing is a slip. Messages of a schedule are simulated as they were sent, whatever their algorithm is called.
void refuse_idle_renames(const Renames& renames, const Trace& trace) {
  std::set<std::string> measured;
  for (const TraceRun& run : trace.runs)
    for (const TraceOperation& o : run.operations)
      if (collective_named(o.op)) measured.insert(o.algorithm.empty() ? "none" : o.algorithm);
  std::vector<std::string> problems;
  for (const auto& [name, ours] : renames)
    if (!measured.contains(name.empty() ? "none" : name))
      problems.push_back(fmt::format("--rename {}={}: no collective of the trace is of \"{}\"; {}", name, label(ours), name,
                                     measured.empty() ? "it has messages, which are simulated as they were sent"
                                                      : fmt::format("algorithms of its collectives: {}", fmt::join(measured, ", "))));
  if (!problems.empty()) throw InputError(std::move(problems));
}

}  // namespace

int replay_command(const ReplayArguments& a, std::ostream& out, std::ostream& err) {
  std::vector<std::string> problems;
  if (a.ranks && *a.ranks < 1) problems.push_back(fmt::format("--ranks must be at least 1, got {}", *a.ranks));
  gather(problems, [&] { refuse_output(a); });
  const std::vector<Setting> settings = parse_settings(a.set, problems);
  std::vector<Case> cases;
  gather(problems, [&] { cases = cluster_of(a, settings); });
  Renames renames;
  gather(problems, [&] { renames = renames_in(a.rename); });
  Trace trace;
  gather(problems, [&] { trace = read_trace(a.trace, a.skip_bad); });
  if (problems.empty()) gather(problems, [&] { refuse_idle_renames(renames, trace); });
  if (!problems.empty()) throw InputError(std::move(problems));
  const Scenario& scenario = cases.front().scenario;
  for (const std::string& line : trace.skipped) err << "weft: skipped " << line << "\n";

  std::string csv(csv_header);
  int index = 0;
  for (const TraceRun& run : trace.runs) {
    if (run.operations.empty()) continue;
    const ReplayPlan plan = plan_replay(trace, run, scenario, {a.ranks.value_or(0), renames});
    const ReplayResult result = replay(plan, scenario);
    print(result, run, out);
    for (const ReplayedOperation& o : result.operations)
      csv += fmt::format("{},\"{}\",{},{},{:.3f}\n", index, o.name, o.bytes, o.measured_us ? fmt::format("{:.3f}", *o.measured_us) : "",
                         o.simulated_us);
    ++index;
  }
  if (index == 0) throw InputError(fmt::format("{}: holds no operation to replay", a.trace));
  if (!a.output.empty()) write_file(a.output, csv);
  return 0;
}

}  // namespace weft
