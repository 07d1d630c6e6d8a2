#include "collectives/transports/on_threads.hpp"

#include "collectives/transports/run_on_threads.hpp"
#include "kernels/base/error.hpp"

#include <atomic>
#include <fstream>
#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace weft;

TEST_CASE("on_threads: every index runs once, and none is also a number of threads") {
  std::vector<std::atomic<int>> ran(20);
  on_threads(
      ran.size(), [&](std::size_t i) { ++ran[i]; }, [](const std::string&) {});
  for (const auto& r : ran) CHECK(r == 1);
  on_threads(
      0, [](std::size_t) {}, [](const std::string&) {});
}

// The sanitizers' own memory is far above any such limit.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WEFT_SANITIZED 1
#endif
#endif
#ifndef WEFT_SANITIZED

namespace {

// So much more than now may this process's addresses take, as long as this lives.
class MoreMemory {
 public:
  explicit MoreMemory(rlim_t bytes) {
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    ::getrlimit(RLIMIT_AS, &before_);
    const rlimit now{.rlim_cur = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + bytes, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_AS, &now);
  }
  MoreMemory(const MoreMemory&) = delete;
  MoreMemory& operator=(const MoreMemory&) = delete;
  ~MoreMemory() { ::setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("on_threads: where one cannot be started, those that run are ended and joined, and it is said") {
  std::atomic<bool> stopped = false;
  std::atomic<int> running = 0;
  std::string reason;
  const auto body = [&](std::size_t) {
    ++running;
    stopped.wait(false);
    --running;
  };
  const auto stop = [&](const std::string& why) {
    reason = why;
    stopped = true;
    stopped.notify_all();
  };
  const MoreMemory little(200 << 20);
  CHECK_THROWS_WITH_AS(on_threads(1000, body, stop), doctest::Contains("cannot start thread "), RunError);
  CHECK(reason.find(" of 1000: Resource temporarily unavailable (each needs memory") != std::string::npos);
  CHECK(running == 0);
}

TEST_CASE("threads: a run with more ranks than threads can be started ends with the reason") {
  Schedule s{.ranks = 500};
  s.collective = Collective::broadcast;
  for (Rank r = 0; r + 1 < s.ranks; ++r) s.add_step().copy({.from = r, .to = r + 1});
  TestBuffers memory(s, ReduceOp::sum, DType::int32, 10, {});
  const MoreMemory little(200 << 20);
  CHECK_THROWS_WITH_AS(run_threads(s, ReduceOp::sum, memory.buffers()), doctest::Contains(" of 500: Resource temporarily unavailable"),
                       RunError);
}

#endif
#endif
