#include "sim/repeated.hpp"

#include "sim/engine/in_child.hpp"
#include "sim/experiment.hpp"
#include "sim/network/run_progress.hpp"
#include "sim/scenario/networks.hpp"
#include "sim/scenario/repeat_fields.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <sstream>

namespace weft {
namespace {

struct AskedFor {
  const Scenario& scenario;
  const AlgorithmChoice& algorithm;
  Bytes size;
  Unprovable unprovable;
  std::shared_ptr<const Fabric> cluster = {};  // instead of the scenario's
  int runs() const { return scenario.repeat->runs; }
};

// Runs of one process: the cluster, which is the same in all of them, is built once.
class Runs {
 public:
  explicit Runs(const AskedFor& asked) : asked_(asked), cluster_(asked.cluster) {}

  Row run(int number, const Experiment::Options& options) {
    run_progress().next_run(number, asked_.runs());
    try {
      Experiment experiment(scenario_of_run(asked_.scenario, number), asked_.algorithm, cluster_, Prover(asked_.unprovable));
      cluster_ = experiment.cluster();
      return experiment.run(asked_.size, options);
    } catch (const RunError& error) {
      throw RunError(fmt::format("run {} of {}: {}", number + 1, asked_.runs(), error.what()));
    }
  }

 private:
  const AskedFor& asked_;
  std::shared_ptr<const Fabric> cluster_;
};

// By run the times of the row, and of the jobs beside its own.
using TimesOfRuns = std::vector<std::vector<SimTime>>;

// Those of every `step`th run from `first` on, in picoseconds, a line each.
std::string times_from(const AskedFor& asked, int first, int step) {
  Runs runs(asked);
  std::string out;
  for (int i = first; i < asked.runs(); i += step) {
    std::vector<SimTime> of_jobs;
    const SimTime of_row = runs.run(i, {.each_alone = false, .job_times = &of_jobs}).time;
    of_jobs.front() = of_row;
    for (const SimTime time : of_jobs) out += fmt::format("{} ", time.ps);
    out += '\n';
  }
  return out;
}

// Networks that run once in a process have one for each run.
TimesOfRuns all_times(const AskedFor& asked, unsigned processes) {
  const int step = traits_of(asked.scenario.network).runs_again
                       ? static_cast<int>(std::clamp<unsigned>(processes, 1, static_cast<unsigned>(asked.runs())))
                       : asked.runs();
  TimesOfRuns out(static_cast<std::size_t>(asked.runs()));
  const auto take = [&](const std::string& text, int first) {
    std::istringstream in(text);
    std::string line;
    for (int i = first; i < asked.runs() && std::getline(in, line); i += step) {
      std::istringstream times(line);
      for (SimTime time; times >> time.ps;) out[static_cast<std::size_t>(i)].push_back(time);
    }
  };
  std::deque<std::pair<int, Child>> children;  // with the first run of each
  const auto take_oldest = [&] {
    take(children.front().second.result(), children.front().first);
    children.pop_front();
  };
  for (int first = 1; first < step; ++first) {
    if (children.size() + 1 >= std::max(1U, processes) && !children.empty()) take_oldest();
    children.emplace_back(first, Child([&asked, first, step] {
                            RunProgress unseen;  // what is shown is that of the first
                            report_progress_to(unseen);
                            return times_from(asked, first, step);
                          }));
  }
  const bool again = traits_of(asked.scenario.network).runs_again;
  take(again ? times_from(asked, 0, step) : in_child([&] { return times_from(asked, 0, step); }), 0);
  while (!children.empty()) take_oldest();
  return out;
}

// Of one of them.
std::vector<SimTime> times_of(const TimesOfRuns& all, std::size_t job) {
  std::vector<SimTime> out;
  for (const std::vector<SimTime>& run : all) out.push_back(run.at(job));
  return out;
}

std::vector<SimTime> sorted(std::vector<SimTime> times) {
  std::ranges::sort(times);
  return times;
}

// What the runs say of a time that one of them had.
template <class Result>
void set_spread(Result& of, const std::vector<SimTime>& sorted) {
  of.time_p05 = std::min(of.time, quantile(sorted, 0.05));  // of two runs the shorter is both
  of.time_p95 = std::max(of.time, quantile(sorted, 0.95));
}

// Of the sorted times of runs; of two in the middle the shorter, so that there is a run of which a row can be.
SimTime median(std::span<const SimTime> sorted) { return sorted[(sorted.size() - 1) / 2]; }

}  // namespace

SimTime quantile(std::span<const SimTime> times, double share) {
  check(!times.empty(), "a quantile of no times");
  const double at = share * static_cast<double>(times.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  if (below + 1 >= times.size()) return times.back();
  const double part = at - static_cast<double>(below);
  return times[below] + SimTime{std::llround(part * static_cast<double>((times[below + 1] - times[below]).ps))};
}

Row simulate_repeated(const Scenario& scenario, const AlgorithmChoice& algorithm, Bytes size, const RepeatOptions& options,
                      Timeline* timeline) {
  check(scenario.repeat.has_value(), "a row without \"repeat\" is repeated");
  const auto began = std::chrono::steady_clock::now();
  const AskedFor asked{scenario, algorithm, size, options.unprovable};
  const TimesOfRuns all = all_times(asked, options.processes);
  const std::vector<SimTime> times = times_of(all, 0), ordered = sorted(times);
  const auto run = std::ranges::find(times, median(ordered)) - times.begin();
  Row row = Runs(asked).run(static_cast<int>(run), {.timeline = timeline, .find_path = true});
  set_spread(row, ordered);
  for (std::size_t job = 0; job < row.jobs.size(); ++job) set_spread(row.jobs[job], sorted(times_of(all, job)));
  row.runs = asked.runs();
  row.times = times;
  row.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return row;
}

SimTime median_of_runs(const Scenario& scenario, const AlgorithmChoice& algorithm, Bytes size, const RepeatOptions& options,
                       std::shared_ptr<const Fabric> cluster) {
  return median(sorted(times_of(all_times({scenario, algorithm, size, options.unprovable, std::move(cluster)}, options.processes), 0)));
}

}  // namespace weft
