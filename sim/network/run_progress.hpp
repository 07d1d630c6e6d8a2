// How far the run of this process has come, for whoever watches it from another: a worker process simulates, its parent shows.
#pragma once

#include "models/units.hpp"

#include <atomic>
#include <cstdint>

namespace weft {

class RunProgress {
 public:
  struct Reached {
    SimTime now;
    std::uint64_t events = 0;  // of the network model
  };

  // By the one who simulates; cheap.
  void reached(SimTime now, std::uint64_t events) {
    now_ps_.store(now.ps, std::memory_order_relaxed);
    events_.store(events, std::memory_order_relaxed);
  }
  // By anyone. The two may be of different moments.
  Reached reached() const { return {{now_ps_.load(std::memory_order_relaxed)}, events_.load(std::memory_order_relaxed)}; }

 private:
  std::atomic<std::int64_t> now_ps_{0};
  std::atomic<std::uint64_t> events_{0};
  static_assert(std::atomic<std::int64_t>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free);  // in shared memory
};

// Where runs of this process report to: its own, or one in memory that is shared with another process, which must outlive the
// runs.
RunProgress& run_progress();
void report_progress_to(RunProgress& shared);

}  // namespace weft
