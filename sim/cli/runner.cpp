#include "sim/cli/runner.hpp"

#include "sim/engine/in_child.hpp"
#include "sim/report/details.hpp"
#include "sim/results/trace_events.hpp"
#include "sim/results/writers.hpp"

#include <array>
#include <csignal>
#include <list>
#include <memory>
#include <thread>

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

void collect(Worker& worker, Result& result) {
  try {
    const std::string sent = worker.child.result();
    const auto end = sent.find('\n'), end_of_details = sent.find('\n', end + 1);
    result.row = row_from_text(sent.substr(0, end));
    result.details = sent.substr(end + 1, end_of_details - end - 1);
    result.trace = sent.substr(end_of_details + 1);
  } catch (const InputError& error) {
    result.failure = error.what();
    result.bad_input = true;
  } catch (const std::exception& error) {
    result.failure = error.what();
  }
}

// The rows of a run, some done, some under way, some to come.
class Rows {
 public:
  Rows(const std::vector<RowRequest>& requests, const std::vector<Case>& cases, const RunRow& run, const RunOptions& options)
      : requests_(requests), cases_(cases), run_(run), options_(options), progress_(requests.size()) {
    for (const RowRequest& request : requests) results_.push_back({.request = request});
    most_ = options.workers > 0 ? options.workers : std::max(1U, std::thread::hardware_concurrency());
  }

  bool all_done() const { return next_ == requests_.size() && workers_.empty(); }

  void start() {
    while (workers_.size() < most_ && next_ < requests_.size()) try {
        const std::size_t row = next_;
        workers_.push_back({row, Child([&, row] {
                              if (RunProgress* shared = progress_.of(row)) report_progress_to(*shared);
                              return work(requests_[row], run_, options_, row, label(requests_[row], cases_));
                            })});
        ++next_;
      } catch (const RunError& no_process) {  // one that ends gives back what this one lacks
        if (!workers_.empty() || attempts_left_-- > 0) return;
        results_[next_].failure = no_process.what();
        finish(next_++);
      }
  }

  void wait() {
    std::vector<pollfd> waiting;
    for (const Worker& worker : workers_) waiting.push_back({.fd = worker.child.fd(), .events = POLLIN, .revents = 0});
    constexpr int ms = 200;  // a signal may come just before poll() waits
    const int ready = ::poll(waiting.data(), waiting.size(), ms);
    tell_of_the_oldest();
    if (ready <= 0) return;
    auto worker = workers_.begin();
    for (const pollfd& fd : waiting) {
      const auto here = worker++;
      if (fd.revents == 0 || here->child.read_some()) continue;
      const std::size_t row = here->row;
      collect(*here, results_[row]);
      workers_.erase(here);
      finish(row);
    }
  }

  std::vector<Result> take() {
    for (Result& result : results_)
      if (!result.row && result.failure.empty()) result.failure = interrupted_row;
    return std::move(results_);  // workers still under way are ended by ~Child
  }

 private:
  void tell_of_the_oldest() const {
    if (!options_.on_wait || workers_.empty()) return;
    const Worker& oldest = workers_.front();
    const RunProgress* shared = progress_.of(oldest.row);
    options_.on_wait({.request = requests_[oldest.row],
                      .wall = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - oldest.began),
                      .reached = shared ? shared->reached() : RunProgress::Reached{}});
  }

  void finish(std::size_t row) const {
    if (options_.on_done) options_.on_done(results_[row], results_);
  }

  const std::vector<RowRequest>& requests_;
  const std::vector<Case>& cases_;
  const RunRow& run_;
  const RunOptions& options_;
  SharedProgress progress_;
  std::vector<Result> results_;
  std::list<Worker> workers_;  // the oldest first
  std::size_t most_ = 1, next_ = 0;
  int attempts_left_ = 5;  // to start a row where none is under way, a wait between them
};

}  // namespace

std::vector<Result> run_rows(const std::vector<RowRequest>& requests, const std::vector<Case>& cases, const RunRow& run,
                             const RunOptions& options) {
  const Interruptible interruptible;
  Rows rows(requests, cases, run, options);
  while (!interrupted && !rows.all_done()) {
    rows.start();
    rows.wait();
  }
  return rows.take();
}

}  // namespace weft
