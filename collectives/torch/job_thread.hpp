// A thread that runs jobs one after the other, in the order in which they were handed over.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace weft {

class JobThread {
 public:
  JobThread() : thread_([this] { run(); }) {}
  // Runs what was handed over, then ends.
  ~JobThread() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  // Whether everything handed over so far is done, within this time.
  bool idle_within(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return idle_.wait_for(lock, time, [this] { return jobs_.empty() && !busy_; });
  }

  // `job` does not throw.
  void add(std::function<void()> job) {
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(std::move(job));
    }
    changed_.notify_one();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      busy_ = true;
      lock.unlock();
      job();
      job = nullptr;  // what it holds goes while nobody waits for the lock
      lock.lock();
      busy_ = false;
      if (jobs_.empty()) idle_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_, idle_;
  std::deque<std::function<void()>> jobs_;
  bool ending_ = false, busy_ = false;
  std::thread thread_;
};

}  // namespace weft
