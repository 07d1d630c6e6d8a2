// For tests: functions that take turns on one thread, each until it lets another run.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include <ucontext.h>

namespace weft::test {

class Fiber {
 public:
  explicit Fiber(std::function<void()> body) : body_(std::move(body)) {}
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  bool ended() const { return ended_; }
  // Returns when it lets others run, or has ended.
  void resume() {
    if (!stack_) begin();
    Fiber* const before = std::exchange(running_, this);
    ::swapcontext(&caller_, &own_);
    running_ = before;
  }
  // Called by what runs in a fiber.
  static void let_others_run() { ::swapcontext(&running_->own_, &running_->caller_); }

 private:
  static constexpr std::size_t stack_bytes = 64 * 1024;

  void begin() {
    stack_.reset(new std::byte[stack_bytes]);
    ::getcontext(&own_);
    own_.uc_stack = {.ss_sp = stack_.get(), .ss_flags = 0, .ss_size = stack_bytes};
    own_.uc_link = &caller_;
    ::makecontext(&own_, &Fiber::run, 0);
  }
  static void run() {
    running_->body_();
    running_->ended_ = true;
  }

  static inline thread_local Fiber* running_ = nullptr;
  std::function<void()> body_;
  std::unique_ptr<std::byte[]> stack_;
  ucontext_t own_{}, caller_{};
  bool ended_ = false;
};

// How a block of one_launch_ops.hpp behaves there: one thread, which looks at a flag and then lets others run.
struct FiberBlock {
  unsigned thread() const { return 0; }
  unsigned threads() const { return 1; }
  void sync() const {}
  template <class Word>
  void raise(Word* flag, Word value) const {
    Fiber::let_others_run();
    std::atomic_ref(*flag).store(value, std::memory_order_release);  // others may be in another process
    Fiber::let_others_run();
  }
  template <class Word>
  void wait_for(Word* flag, Word value, const Word* given_up) const {
    while (static_cast<int>(std::atomic_ref(*flag).load(std::memory_order_acquire) - value) < 0) {
      if (given_up != nullptr && *given_up != 0) return;
      Fiber::let_others_run();
    }
  }
};

}  // namespace weft::test
