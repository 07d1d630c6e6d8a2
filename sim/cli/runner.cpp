#include "sim/cli/runner.hpp"

#include "sim/cases/text_key.hpp"
#include "sim/engine/in_child.hpp"
#include "sim/report/details.hpp"
#include "sim/results/row_key.hpp"
#include "sim/results/trace_events.hpp"
#include "sim/results/writers.hpp"

#include <array>
#include <csignal>
#include <deque>
#include <iterator>
#include <list>
#include <memory>
#include <thread>
#include <utility>

#include <poll.h>
#include <sys/mman.h>

namespace weft {
namespace {

volatile std::sig_atomic_t interrupted = 0;

// Takes the signals that ask for an end for as long as it lives, but for those that are ignored (nohup).
class Interruptible {
 public:
  Interruptible() {
    interrupted = 0;
    struct sigaction action = {};
    action.sa_handler = [](int) { interrupted = 1; };  // no SA_RESTART: poll() is to return
    for (std::size_t i = 0; i < signals.size(); ++i) {
      ::sigaction(signals[i], nullptr, &old_[i]);
      if (old_[i].sa_handler != SIG_IGN) ::sigaction(signals[i], &action, nullptr);
    }
  }
  ~Interruptible() {
    for (std::size_t i = 0; i < signals.size(); ++i) ::sigaction(signals[i], &old_[i], nullptr);
  }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  static constexpr std::array signals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, signals.size()> old_ = {};
};

using Clock = std::chrono::steady_clock;

struct Worker {
  std::size_t row;
  Child child;
  Clock::time_point began = Clock::now();
};

// What a worker sends: the row in one line, what the report shows besides in another, then its trace.
std::string work(const RowRequest& request, const RunRow& run, const RunOptions& options, std::size_t row, const std::string& row_label) {
  Timeline timeline;
  const Row result = run(request, options.trace || options.details ? &timeline : nullptr);
  std::string out = to_text(result) + "\n";
  if (options.details) out += row_details(timeline, result).dump();
  out += "\n";
  if (options.trace) out += trace_events(timeline, row, row_label);
  return out;
}

// A place for the progress of each row, in memory that its worker shares with us; none where there is no such memory.
class SharedProgress {
 public:
  explicit SharedProgress(std::size_t rows) : bytes_(std::max<std::size_t>(1, rows) * sizeof(RunProgress)) {
    void* memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    rows_ = static_cast<RunProgress*>(memory);
    std::uninitialized_default_construct_n(rows_, rows);
  }
  ~SharedProgress() {
    if (rows_) ::munmap(rows_, bytes_);
  }
  SharedProgress(const SharedProgress&) = delete;
  SharedProgress& operator=(const SharedProgress&) = delete;

  RunProgress* of(std::size_t row) const { return rows_ ? rows_ + row : nullptr; }

 private:
  std::size_t bytes_;
  RunProgress* rows_ = nullptr;
};

// What became of a row, as ranks tell each other: how it ended, then what its worker sent, or why there is no row.
constexpr char simulated = 'v', bad_input = 'i', failed = 'f', killed = 'k';

std::string outcome_of(Child& child) {
  try {
    return simulated + child.result();
  } catch (const InputError& error) {
    return std::string(1, bad_input) + error.what();
  } catch (const std::exception& error) {
    return std::string(1, child.was_killed() ? killed : failed) + error.what();
  }
}

void read_outcome(std::string_view outcome, Result& result) {
  const std::string_view text = outcome.substr(1);
  if (outcome.front() == simulated) {
    const auto end = text.find('\n'), end_of_details = text.find('\n', end + 1);
    result.row = row_from_text(std::string(text.substr(0, end)));
    result.details = text.substr(end + 1, end_of_details - end - 1);
    result.trace = text.substr(end_of_details + 1);
  } else {
    result.failure = text;
    result.bad_input = outcome.front() == bad_input;
  }
}

std::string outcome_of(const Result& result) {
  if (result.row) return simulated + to_text(*result.row) + "\n" + result.details + "\n" + result.trace;
  return std::string(1, result.bad_input ? bad_input : failed) + result.failure;
}

// Everything that a row depends on, and what has simulated it.
std::string fingerprint_of(const std::vector<RowRequest>& requests, const RunOptions& options) {
  std::string all = fmt::format("{}{}", options.trace ? "traced" : "", options.details ? "detailed" : "");
  for (const RowRequest& request : requests) all += row_key(request);
  return key_of(all);
}

// Rows that are simulated here, a process each.
class Workers {
 public:
  Workers(const std::vector<RowRequest>& requests, const std::vector<Case>& cases, const RunRow& run, const RunOptions& options)
      : requests_(requests), cases_(cases), run_(run), options_(options), progress_(requests.size()) {}

  std::size_t count() const { return workers_.size(); }
  const Worker* oldest() const { return workers_.empty() ? nullptr : &workers_.front(); }
  RunProgress::Reached reached(std::size_t row) const {
    const RunProgress* shared = progress_.of(row);
    return shared ? shared->reached() : RunProgress::Reached{};
  }

  void start(std::size_t row) {  // throws RunError where no process can be started
    workers_.push_back({row, Child([&, row] {
                          if (RunProgress* shared = progress_.of(row)) report_progress_to(*shared);
                          return work(requests_[row], run_, options_, row, label(requests_[row], cases_));
                        })});
  }

  std::vector<pollfd> waiting() const {
    std::vector<pollfd> out;
    for (const Worker& worker : workers_) out.push_back({.fd = worker.child.fd(), .events = POLLIN, .revents = 0});
    return out;
  }

  // Those that have ended, once each, and what became of them.
  std::vector<std::pair<std::size_t, std::string>> ended() {
    std::vector<pollfd> fds = waiting();
    std::vector<std::pair<std::size_t, std::string>> out;
    if (::poll(fds.data(), fds.size(), 0) <= 0) return out;
    auto worker = workers_.begin();
    for (const pollfd& fd : fds) {
      const auto here = worker++;
      if (fd.revents == 0 || here->child.read_some()) continue;
      out.emplace_back(here->row, outcome_of(here->child));
      workers_.erase(here);
    }
    return out;
  }

 private:
  const std::vector<RowRequest>& requests_;
  const std::vector<Case>& cases_;
  const RunRow& run_;
  const RunOptions& options_;
  SharedProgress progress_;
  std::list<Worker> workers_;  // the oldest first
};

// The rows of a run, some done, some under way here or with other ranks, some to come.
class Rows {
 public:
  Rows(const std::vector<RowRequest>& requests, const RunOptions& options, Workers& here)
      : requests_(requests), options_(options), here_(here), leader_(options.farm ? options.farm->leader.get() : nullptr) {
    for (std::size_t row = 0; row < requests.size(); ++row) {
      const Result* known = options.known && (*options.known)[row].row ? &(*options.known)[row] : nullptr;
      results_.push_back(known ? *known : Result{.request = requests[row]});
      results_.back().request = requests[row];
      if (!known) todo_.push_back(row);
    }
    losses_.resize(requests.size());
    if (!leader_) return;
    leader_->begin(
        fingerprint_of(requests, options),
        {.done = [this](std::size_t row, std::string outcome) { --elsewhere_, take(row, outcome); },
         .lost = [this](std::size_t row) { --elsewhere_, take(row, fmt::format("{}the rank that simulated it is lost", killed)); }});
  }

  bool all_done() const { return todo_.empty() && here_.count() == 0 && elsewhere_ == 0; }

  void start(std::size_t most) {
    while (here_.count() < most && !todo_.empty()) try {
        here_.start(todo_.front());
        todo_.pop_front();
      } catch (const RunError& no_process) {  // one that ends gives back what this one lacks
        if (here_.count() > 0 || attempts_left_-- > 0) break;
        const std::size_t row = todo_.front();
        todo_.pop_front();
        results_[row].failure = no_process.what();
        finish(row);
      }
    while (leader_ && !todo_.empty() && leader_->give(todo_.front())) {
      ++elsewhere_;
      todo_.pop_front();
    }
  }

  void wait() {
    std::vector<pollfd> waiting = here_.waiting();
    if (leader_) {
      const std::vector<pollfd> others = leader_->waiting();
      waiting.insert(waiting.end(), others.begin(), others.end());
    }
    constexpr int ms = 200;  // a signal may come just before poll() waits
    ::poll(waiting.data(), waiting.size(), ms);
    tell_of_the_oldest();
    for (const auto& [row, outcome] : here_.ended()) take(row, outcome);
    if (leader_) leader_->attend();
  }

  std::vector<Result> take_all() {
    for (Result& result : results_)
      if (!result.row && result.failure.empty()) result.failure = interrupted_row;
    return std::move(results_);  // workers still under way are ended by ~Child
  }

 private:
  void tell_of_the_oldest() const {
    const Worker* oldest = here_.oldest();
    if (!options_.on_wait || !oldest) return;
    options_.on_wait({.request = requests_[oldest->row],
                      .wall = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - oldest->began),
                      .reached = here_.reached(oldest->row)});
  }

  void take(std::size_t row, const std::string& outcome) {
    constexpr int max_losses = 2;
    if (outcome.front() == killed && ++losses_[row] <= max_losses) return todo_.push_front(row);
    read_outcome(outcome, results_[row]);
    finish(row);
  }

  void finish(std::size_t row) const {
    if (options_.on_done) options_.on_done(results_[row], results_);
  }

  const std::vector<RowRequest>& requests_;
  const RunOptions& options_;
  Workers& here_;
  FarmLeader* leader_;
  std::vector<Result> results_;
  std::deque<std::size_t> todo_;
  std::vector<int> losses_;    // of each row: how often what simulated it was killed
  std::size_t elsewhere_ = 0;  // rows that other ranks are simulating
  int attempts_left_ = 5;      // to start a row where none is under way, a wait between them
};

std::string all_outcomes(const std::vector<Result>& results) {
  std::string out;
  for (const Result& result : results) {
    const std::string outcome = outcome_of(result);
    out += fmt::format("{}\n{}", outcome.size(), outcome);
  }
  return out;
}

void read_outcomes(std::string_view all, std::vector<Result>& results) {
  for (Result& result : results) {
    const std::size_t end = all.find('\n'), size = std::stoull(std::string(all.substr(0, end)));
    read_outcome(all.substr(end + 1, size), result);
    all.remove_prefix(end + 1 + size);
  }
}

// What a rank other than 0 does: rows for that, until it says that all are done.
std::vector<Result> serve(const std::vector<RowRequest>& requests, const RunOptions& options, Workers& here, std::size_t slots) {
  std::vector<std::pair<std::size_t, std::string>> not_started;
  const FarmWorker::Tasks tasks = {.slots = slots,
                                   .start =
                                       [&](std::size_t row) {
                                         try {
                                           here.start(row);
                                         } catch (const RunError& no_process) {
                                           not_started.emplace_back(row, std::string(1, failed) + no_process.what());
                                         }
                                       },
                                   .waiting = [&] { return here.waiting(); },
                                   .ended =
                                       [&] {
                                         auto out = here.ended();
                                         std::ranges::move(std::exchange(not_started, {}), std::back_inserter(out));
                                         return out;
                                       },
                                   .interrupted = [] { return interrupted != 0; }};
  std::vector<Result> results;
  for (const RowRequest& request : requests) results.push_back({.request = request, .failure = interrupted_row});
  const std::optional<std::string> outcomes = options.farm->worker->serve(fingerprint_of(requests, options), tasks);
  if (outcomes && !outcomes->empty()) {
    for (Result& result : results) result.failure.clear();
    read_outcomes(*outcomes, results);
  }
  return results;
}

}  // namespace

std::vector<Result> run_rows(const std::vector<RowRequest>& requests, const std::vector<Case>& cases, const RunRow& run,
                             const RunOptions& options) {
  const Interruptible interruptible;
  Workers here(requests, cases, run, options);
  const std::size_t most = options.workers > 0 ? options.workers : std::max(1U, std::thread::hardware_concurrency());
  if (options.farm && options.farm->worker) return serve(requests, options, here, most);
  Rows rows(requests, options, here);
  while (!interrupted && !rows.all_done()) {
    rows.start(most);
    rows.wait();
  }
  std::vector<Result> results = rows.take_all();
  if (options.farm && options.farm->leader) {
    if (interrupted)
      options.farm->leader->stop();
    else
      options.farm->leader->end(options.share_results ? all_outcomes(results) : std::string());
  }
  return results;
}

}  // namespace weft
