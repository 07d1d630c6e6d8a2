#pragma once

#include <chrono>
#include <thread>

namespace weft {

// Looks again and again until `done`, for long enough for a small message between two running cores, which is short against a time
// slice. Whether it was done.
template <class Done>
bool spin_until(Done&& done) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds longest{50};
  for (const auto until = Clock::now() + longest; Clock::now() < until;) {
    if (done()) return true;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    std::this_thread::yield();
#endif
  }
  return false;
}

}  // namespace weft
