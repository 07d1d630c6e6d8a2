// A simulation of steps is steady once its state after a step is the one that it had some steps before, only later, and has been since
// before anything that is under way began: then as many steps more make everything later by the same time again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace weft {

class SteadyState {
 public:
  struct Period {
    int steps = 0;
    std::int64_t ps = 0;
  };

  // Whether the state after this step is asked for: some in a row are, and later, in case it was not steady, some others.
  bool is_due(int step) const { return step >= due_; }

  // The state when the step that is watched has ended, as a hash of all that decides what will happen, with dates that count from then.
  // What is under way began at most `age_ps` ago. None while it is not known to be steady.
  std::optional<Period> take(int step, std::int64_t now_ps, std::int64_t age_ps, std::uint64_t state) {
    if (step != last_step_ + 1) seen_.clear();
    last_step_ = step;
    seen_.push_back({state, now_ps});
    due_ = step + 1;
    for (std::size_t steps = 1; steps <= max_steps; ++steps)
      if (const std::optional<std::int64_t> ps = repeats_after(steps, age_ps)) return Period{static_cast<int>(steps), *ps};
    if (seen_.size() == in_a_row) due_ += step / 4;
    return std::nullopt;
  }

  // Steps have been left out: the next one is this.
  void go_on_at(int step) { *this = {}, due_ = step; }

 private:
  static constexpr std::size_t max_steps = 16, in_a_row = 3 * max_steps;
  struct Seen {
    std::uint64_t state;
    std::int64_t now_ps;
  };

  // Each state since then that of so many steps before: by how much later.
  std::optional<std::int64_t> repeats_after(std::size_t steps, std::int64_t age_ps) const {
    if (seen_.size() <= steps) return std::nullopt;
    const std::int64_t now_ps = seen_.back().now_ps, ps = now_ps - seen_[seen_.size() - 1 - steps].now_ps;
    std::size_t first = seen_.size();  // of those that are alike
    for (; first > steps; --first) {
      const Seen &at = seen_[first - 1], &before = seen_[first - 1 - steps];
      if (at.state != before.state || at.now_ps - before.now_ps != ps) break;
    }
    const bool for_a_period = seen_.size() - first >= steps;
    if (!for_a_period || now_ps - seen_[first].now_ps < age_ps) return std::nullopt;
    return ps;
  }

  int due_ = 1, last_step_ = -1;
  std::vector<Seen> seen_;  // after steps in a row
};

// Of numbers, in their order.
class StateHash {
 public:
  void add(std::int64_t number) {
    hash_ = (hash_ ^ static_cast<std::uint64_t>(number)) * 0x9e3779b97f4a7c15u;
    hash_ ^= hash_ >> 32;
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0x243f6a8885a308d3u;
};

}  // namespace weft
