#include "validation/advise/simulations.hpp"

#include "sim/engine/in_child.hpp"
#include "sim/experiment.hpp"
#include "sim/repeated.hpp"
#include "sim/scenario/networks.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <list>
#include <optional>
#include <sstream>
#include <thread>

#include <poll.h>

namespace weft {
namespace {

// One candidate in this process.
class Simulated {
 public:
  Simulated(const Scenario& scenario, const AlgorithmChoice& choice) : scenario_(scenario), choice_(choice) {}

  Row at(Bytes size) {
    if (scenario_.repeat) return simulate_repeated(scenario_, choice_, size, {.processes = 1});
    if (!experiment_ || !traits_of(scenario_.network).runs_again) experiment_.emplace(scenario_, choice_);
    return experiment_->run(size, {.each_alone = false});
  }

 private:
  const Scenario& scenario_;
  const AlgorithmChoice& choice_;
  std::optional<Experiment> experiment_;
};

// A line for each size: its time and how long its busiest link is busy in picoseconds, or "! why not".
std::string outcomes_of(const Scenario& scenario, const AdviseTask& task) {
  Simulated candidate(scenario, scenario.workload.algorithms[task.candidate]);
  std::string out;
  for (const Bytes size : task.sizes) try {
      const Row row = candidate.at(size);
      out += fmt::format("{} {}\n", row.time.ps, std::llround(static_cast<double>(row.time.ps) * row.busiest_link_utilization));
    } catch (const std::exception& error) {
      std::string why = error.what();
      std::ranges::replace(why, '\n', ' ');
      out += fmt::format("! {}\n", why);
    }
  return out;
}

AdviseOutcome read_outcome(const AdviseTask& task, Bytes size, const std::string& line) {
  AdviseOutcome out{.candidate = task.candidate, .size = size};
  if (line.starts_with("! ")) {
    out.failure = line.substr(2);
    return out;
  }
  std::istringstream numbers(line);
  numbers >> out.time.ps >> out.busy.ps;
  return out;
}

std::vector<AdviseOutcome> result_of(Child& child, const AdviseTask& task) {
  std::vector<AdviseOutcome> out;
  std::string text;
  try {
    text = child.result();
  } catch (const std::exception& died) {
    for (const Bytes size : task.sizes) out.push_back({.candidate = task.candidate, .size = size, .failure = died.what()});
    return out;
  }
  std::istringstream lines(text);
  std::string line;
  for (const Bytes size : task.sizes) {
    std::getline(lines, line);
    out.push_back(read_outcome(task, size, line));
  }
  return out;
}

// A task under way.
struct Working {
  std::size_t task;
  Child child;
};

// Waits until something comes, and takes those that have ended.
void take_ended(std::list<Working>& working, const std::vector<AdviseTask>& tasks, std::vector<std::vector<AdviseOutcome>>& outcomes) {
  std::vector<pollfd> fds;
  for (const Working& w : working) fds.push_back({.fd = w.child.fd(), .events = POLLIN, .revents = 0});
  if (::poll(fds.data(), fds.size(), -1) <= 0) return;  // a signal
  auto next = working.begin();
  for (const pollfd& fd : fds) {
    const auto here = next++;
    if (fd.revents == 0 || here->child.read_some()) continue;
    outcomes[here->task] = result_of(here->child, tasks[here->task]);
    working.erase(here);
  }
}

}  // namespace

std::vector<AdviseOutcome> simulate_tasks(const Scenario& scenario, const std::vector<AdviseTask>& tasks) {
  // Networks that run once in a process have a process for each size.
  std::vector<AdviseTask> own;
  for (const AdviseTask& task : tasks)
    if (traits_of(scenario.network).runs_again || scenario.repeat)
      own.push_back(task);
    else
      for (const Bytes size : task.sizes) own.push_back({task.candidate, {size}});
  const std::size_t at_once = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::vector<AdviseOutcome>> outcomes(own.size());
  std::list<Working> working;
  for (std::size_t begun = 0; begun < own.size() || !working.empty();) {
    for (; begun < own.size() && working.size() < at_once; ++begun)
      working.push_back({begun, Child([&scenario, task = &own[begun]] { return outcomes_of(scenario, *task); })});
    take_ended(working, own, outcomes);
  }
  std::vector<AdviseOutcome> out;
  for (std::vector<AdviseOutcome>& of_task : outcomes) std::ranges::move(of_task, std::back_inserter(out));
  return out;
}

}  // namespace weft
