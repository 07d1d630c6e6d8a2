// The threads of one rank, one per channel, that begin and end every run together.
#pragma once

#include <condition_variable>
#include <mutex>

namespace weft::bench {

class Team {
 public:
  struct Broken {};  // thrown by sync() after break_up()

  explicit Team(int size) : size_(size) {}

  void sync() {
    if (size_ == 1) return;
    std::unique_lock lock(mutex_);
    if (++waiting_ == size_) {
      waiting_ = 0;
      ++round_;
      all_here_.notify_all();
    } else {
      const int round = round_;
      all_here_.wait(lock, [&] { return broken_ || round != round_; });
    }
    if (broken_) throw Broken{};
  }
  void break_up() {
    const std::lock_guard lock(mutex_);
    broken_ = true;
    all_here_.notify_all();
  }

 private:
  const int size_;
  std::mutex mutex_;
  std::condition_variable all_here_;
  int waiting_ = 0;
  int round_ = 0;
  bool broken_ = false;
};

}  // namespace weft::bench
