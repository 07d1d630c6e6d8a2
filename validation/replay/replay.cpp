#include "validation/replay/replay.hpp"

#include "sim/network/flow_network.hpp"
#include "sim/results/output_files.hpp"
#include "sim/scenario/cases.hpp"
#include "sim/scenario/files.hpp"
#include "validation/fit/fit.hpp"
#include "validation/fit/honoured.hpp"
#include "validation/renames.hpp"

#include <algorithm>
#include <iostream>

namespace weft {
namespace {

// When each rank began and ended each operation.
class Observer {
 public:
  explicit Observer(const ReplayPlan& plan)
      : plan_(plan), ranks_(static_cast<std::size_t>(plan.schedule.ranks)), times_(plan.operations.size() * ranks_) {
    for (std::size_t channel = 0; channel < plan.schedule.channels.size(); ++channel)
      operation_at_.emplace_back(static_cast<std::size_t>(plan.schedule.channels[channel].count()), none);
    for (std::size_t i = 0; i < plan.operations.size(); ++i) {
      const ReplayOperation& o = plan.operations[i];
      operation_at_[static_cast<std::size_t>(o.channel)][static_cast<std::size_t>(o.first_step)] = i;
    }
  }

  // A rank is done with what came before this step: with the operation before, if one begins here.
  SimTime before_step(int channel, int step, Rank rank, SimTime now) {
    const auto& of_channel = operation_at_[static_cast<std::size_t>(channel)];
    const std::size_t operation = of_channel[static_cast<std::size_t>(step)];
    if (operation == none) return {};
    const auto r = static_cast<std::size_t>(rank);
    if (step > 0) at(operation - 1, r).end = now;  // operations are in the order of their channel's steps
    const auto& compute = plan_.operations[operation].compute_before;
    const SimTime pause = compute.empty() ? SimTime{} : compute[r];
    if (now > SimTime::never() - pause) throw RunError("the replay lasts longer than 106 days, which simulated time cannot count");
    at(operation, r).start = now + pause;
    return pause;
  }

  void finish(std::span<const SimTime> rank_finish) {
    for (std::size_t i = 0; i < plan_.operations.size(); ++i) {
      const bool last = i + 1 == plan_.operations.size() || plan_.operations[i + 1].channel != plan_.operations[i].channel;
      for (std::size_t r = 0; last && r < ranks_; ++r) at(i, r).end = rank_finish[r];
    }
  }

  Interval& at(std::size_t operation, std::size_t rank) { return times_[operation * ranks_ + rank]; }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  const ReplayPlan& plan_;
  const std::size_t ranks_;
  std::vector<Interval> times_;
  std::vector<std::vector<std::size_t>> operation_at_;  // by channel and step; none where no operation begins
};

struct Span {
  SimTime start = SimTime::never(), end{INT64_MIN};
  void add(const Interval& i) { start = std::min(start, i.start), end = std::max(end, i.end); }
  double us() const { return (end - start).microseconds(); }
};

}  // namespace

ReplayResult replay(const ReplayPlan& plan, const Scenario& scenario) {
  const auto fabric = build(scenario.fabric.spec);
  if (plan.schedule.ranks > fabric->endpoints())
    throw InputError(fmt::format("the trace's {} ranks do not fit the scenario's {} endpoints", plan.schedule.ranks, fabric->endpoints()));
  const std::vector<int> placement = place(scenario.placement, plan.schedule.ranks, scenario.fabric.spec);
  Routes routes(*fabric, scenario.fabric.ecmp);
  Observer observer(plan);
  const Job job{
      .schedule = plan.schedule,
      .placement = placement,
      .elements = plan.elements,
      .element_bytes = plan.element_bytes,
      .hardware = scenario.hardware,
      .start = plan.start,
      .before_step = [&](int channel, int step, Rank rank, SimTime now) { return observer.before_step(channel, step, rank, now); }};
  const NetworkRun run = run_flow_bare(job, *fabric, routes);
  observer.finish(run.rank_finish);

  ReplayResult result{.name = plan.name, .operations = {}, .measured_us = {}, .simulated_us = 0};
  Span all_measured, all_simulated;
  for (std::size_t i = 0; i < plan.operations.size(); ++i) {
    const ReplayOperation& o = plan.operations[i];
    Span measured, simulated;
    const bool compared = std::ranges::any_of(o.measured, [](const auto& m) { return m.has_value(); });
    for (std::size_t r = 0; r < o.measured.size(); ++r) {
      if (o.measured[r]) measured.add(*o.measured[r]), all_measured.add(*o.measured[r]);
      if (o.measured[r] || !compared) simulated.add(observer.at(i, r));  // ranks that took no part are not compared
      all_simulated.add(observer.at(i, r));
    }
    result.operations.push_back({o.name, o.bytes, compared ? std::optional(measured.us()) : std::nullopt, simulated.us()});
  }
  if (all_measured.start != SimTime::never()) result.measured_us = all_measured.us();
  result.simulated_us = all_simulated.us();
  return result;
}

namespace {

constexpr std::string_view csv_header = "run,operation,size_bytes,measured_us,simulated_us\n";

void print_row(const std::string& name, std::int64_t bytes, std::optional<double> measured_us, double simulated_us, std::ostream& out) {
  out << fmt::format("  {:<34} {:>12} {:>14} {:>14.2f} {:>10}\n", name, bytes, measured_us ? fmt::format("{:.2f}", *measured_us) : "-",
                     simulated_us,
                     measured_us && *measured_us > 0 ? fmt::format("{:+.1f} %", 100 * (simulated_us / *measured_us - 1)) : "-");
}

void print(const ReplayResult& result, const TraceRun& run, std::ostream& out) {
  constexpr std::size_t most_rows = 40;
  out << fmt::format("# {}, {} operations\n# {:<34} {:>12} {:>14} {:>14} {:>10}\n", result.name, result.operations.size(), "operation",
                     "size (B)", "measured (us)", "simulated (us)", "error");
  std::vector<double> errors;
  for (std::size_t i = 0; i < result.operations.size(); ++i) {
    const ReplayedOperation& o = result.operations[i];
    if (i < most_rows) print_row(o.name, o.bytes, o.measured_us, o.simulated_us, out);
    if (o.measured_us && *o.measured_us > 0) errors.push_back(o.simulated_us / *o.measured_us - 1);
  }
  if (result.operations.size() > most_rows)
    out << fmt::format("# ... and {} more; -o FILE writes them all\n", result.operations.size() - most_rows);
  print_row("total", run.size_bytes, result.measured_us, result.simulated_us, out);
  if (!errors.empty()) {
    const ErrorSummary e = summarise(errors);
    out << fmt::format("# per operation: median error {:.1f} %, 95th percentile {:.1f} %\n", 100 * e.median, 100 * e.p95);
  }
  if (!run.times_us.empty()) {
    std::vector<double> times = run.times_us;
    std::ranges::sort(times);
    out << fmt::format("# {} calls that were not traced took {:.2f} us at the median\n", times.size(), times[times.size() / 2]);
  }
}

}  // namespace

int replay_command(const ReplayArguments& a, std::ostream& out, std::ostream& err) {
  if (a.ranks && *a.ranks < 1) throw InputError(fmt::format("--ranks must be at least 1, got {}", *a.ranks));
  if (!a.output.empty())
    refuse_to_replace(
        {{a.output, "-o " + a.output, "a table of weft replay", [](std::string_view text) { return text.starts_with(csv_header); }}},
        {a.trace, a.scenario}, a.force);
  std::vector<Setting> settings;
  for (const std::string& text : a.set) settings.push_back(parse_setting(text));
  const auto cases = load_cases(a.scenario, settings);
  if (cases.size() != 1)
    throw InputError(fmt::format("{}: a scenario of one case is needed here, its sweep makes {}", a.scenario, cases.size()));
  const Scenario& scenario = cases.front().scenario;
  refuse_not_honoured(a.scenario, scenario, {.in_network_on_packet = false});
  const Trace trace = read_trace(a.trace, a.skip_bad);
  for (const std::string& line : trace.skipped) err << "weft: skipped " << line << "\n";

  std::string csv(csv_header);
  const Renames renames = renames_in(a.rename);
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
