// How far the run of this process has come, for whoever watches it from another: a worker process simulates, its parent shows.
#pragma once

#include "kernels/base/units.hpp"

#include <atomic>
#include <cstdint>
#include <utility>

namespace weft {

class RunProgress {
 public:
  struct Reached {
    SimTime now;
    std::uint64_t events = 0;  // of the network model
    double share = 0;          // of the work that is done, 0 to 1; 0: not known
  };

  // By the one who simulates; cheap.
  void reached(SimTime now, std::uint64_t events, double share = 0) {
    now_ps_.store(later(part_begun_.ps, now.ps), std::memory_order_relaxed);
    events_.store(events_before_ + events, std::memory_order_relaxed);
    if (!in_part_) share_.store((static_cast<double>(runs_before_) + share) / runs_, std::memory_order_relaxed);
  }
  // While it lives, what is reached is of a part of the run that is simulated by itself, and begins then.
  class Part {
   public:
    Part(RunProgress& whole, SimTime begins) : whole_(whole), events_(std::exchange(whole.events_before_, whole.events_.load())) {
      whole.in_part_ = true, whole.part_begun_ = begins;
    }
    Part(const Part&) = delete;
    ~Part() {
      const std::uint64_t own = whole_.events_.load() - whole_.events_before_;
      whole_.events_before_ = events_ + own;
      whole_.in_part_ = false, whole_.part_begun_ = {};
    }

   private:
    RunProgress& whole_;
    std::uint64_t events_;
  };

  // What follows is one of so many runs that are alike.
  void next_run(int before, int runs) {
    events_before_ = events_.load(std::memory_order_relaxed);
    runs_before_ = before;
    runs_ = runs;
  }
  // By anyone. They may be of different moments.
  Reached reached() const {
    return {{now_ps_.load(std::memory_order_relaxed)}, events_.load(std::memory_order_relaxed), share_.load(std::memory_order_relaxed)};
  }

 private:
  std::atomic<std::int64_t> now_ps_{0};
  std::atomic<std::uint64_t> events_{0};
  std::atomic<double> share_{0};
  std::uint64_t events_before_ = 0;  // of the simulating process only
  int runs_before_ = 0, runs_ = 1;
  bool in_part_ = false;
  SimTime part_begun_;
  static_assert(std::atomic<std::int64_t>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free &&
                std::atomic<double>::is_always_lock_free);  // in shared memory
};

// Where runs of this process report to: its own, or one in memory that is shared with another process, which must outlive the
// runs.
RunProgress& run_progress();
void report_progress_to(RunProgress& shared);

}  // namespace weft
