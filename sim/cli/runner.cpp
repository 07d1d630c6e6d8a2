#include "sim/cli/runner.hpp"

#include "sim/engine/in_child.hpp"
#include "sim/results/writers.hpp"

#include <csignal>
#include <list>
#include <memory>
#include <thread>

#include <poll.h>
#include <sys/mman.h>

namespace weft {
namespace {

volatile std::sig_atomic_t interrupted = 0;

// Takes SIGINT and SIGTERM for as long as it lives.
class Interruptible {
 public:
  Interruptible() {
    interrupted = 0;
    struct sigaction action = {};
    action.sa_handler = [](int) { interrupted = 1; };  // no SA_RESTART: poll() is to return
    ::sigaction(SIGINT, &action, &old_int_);
    ::sigaction(SIGTERM, &action, &old_term_);
  }
  ~Interruptible() {
    ::sigaction(SIGINT, &old_int_, nullptr);
    ::sigaction(SIGTERM, &old_term_, nullptr);
  }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  struct sigaction old_int_ = {}, old_term_ = {};
};

struct Worker {
  std::size_t row;
  Child child;
};

// What a worker sends: the row in one line, then its timeline.
std::string work(const RowRequest& request, const RunRow& run, bool trace, std::size_t row, const std::string& row_label) {
  std::vector<MessageRecord> messages;
  std::string out = to_text(run(request, trace ? &messages : nullptr)) + "\n";
  if (trace) out += trace_events(messages, row, row_label);
  return out;
}

// A place for the progress of each row, in memory that its worker shares with us; none where there is no such memory.
class SharedProgress {
 public:
  explicit SharedProgress(std::size_t rows) : bytes_(rows * sizeof(RunProgress)) {
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
    const auto end = sent.find('\n');
    result.row = row_from_text(sent.substr(0, end));
    result.trace = sent.substr(end + 1);
  } catch (const InputError& error) {
    result.failure = error.what();
    result.bad_input = true;
  } catch (const std::exception& error) {
    result.failure = error.what();
  }
}

}  // namespace

std::vector<Result> run_rows(const std::vector<RowRequest>& requests, const std::vector<Case>& cases, const RunRow& run,
                             const RunOptions& options) {
  std::vector<Result> results;
  for (const RowRequest& request : requests) results.push_back({.request = request});
  const std::size_t most = options.workers > 0 ? options.workers : std::max(1U, std::thread::hardware_concurrency());
  const Interruptible interruptible;
  const SharedProgress progress(std::max<std::size_t>(1, requests.size()));
  std::list<Worker> workers;
  std::size_t next = 0;
  while (!interrupted && (next < requests.size() || !workers.empty())) {
    while (workers.size() < most && next < requests.size()) {
      const std::size_t row = next++;
      workers.push_back({row, Child([&, row] {
                           if (RunProgress* shared = progress.of(row)) report_progress_to(*shared);
                           return work(requests[row], run, options.trace, row, label(requests[row], cases));
                         })});
    }
    std::vector<pollfd> waiting;
    for (const Worker& worker : workers) waiting.push_back({.fd = worker.child.fd(), .events = POLLIN, .revents = 0});
    constexpr int ms = 200;  // a signal may come just before poll() waits
    if (::poll(waiting.data(), waiting.size(), ms) <= 0) {
      const RunProgress* first = workers.empty() ? nullptr : progress.of(workers.front().row);
      if (options.on_wait && first) options.on_wait(requests[workers.front().row], first->reached());
      continue;
    }
    auto worker = workers.begin();
    for (const pollfd& ready : waiting) {
      const auto here = worker++;
      if (ready.revents == 0 || here->child.read_some()) continue;
      collect(*here, results[here->row]);
      if (options.on_done) options.on_done(results[here->row], results);
      workers.erase(here);
    }
  }
  for (Result& result : results)
    if (!result.row && result.failure.empty()) result.failure = interrupted_row;
  return results;  // workers still under way are ended by ~Child
}

}  // namespace weft
