// The steps of one channel that some rank is still in, indexed by rank. A step is produced when the first rank reaches it
// and forgotten when the last has left it, so a schedule of millions of transfers is never held whole.
#pragma once

#include "collectives/schedule/schedule.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace weft {

// Which transfers of a step each rank sends and receives. Steps whose transfers join the same ranks in the same order
// share one shape. Local transfers (from == to) are in neither list; they are in `locals`.
struct StepShape {
  // Where a rank's part of each list begins; they are asked for together.
  struct Begins {
    std::uint32_t sends = 0, receives = 0, locals = 0;
  };
  std::vector<Begins> begins;  // by rank, and one behind: rank r sends transfers sends[begins[r].sends .. begins[r + 1].sends)
  std::vector<std::uint32_t> sends, receives, locals;
  std::vector<std::uint64_t> ends;    // (from, to) of each transfer, to recognise an equal step
  std::vector<std::uint32_t> routes;  // the executor's: the route of each transfer, empty until it fills it

  Rank from(std::uint32_t transfer) const { return static_cast<Rank>(ends[transfer] >> 32); }
  Rank to(std::uint32_t transfer) const { return static_cast<Rank>(ends[transfer] & 0xffffffffu); }
  std::span<const std::uint32_t> sends_of(Rank r) const { return slice(&Begins::sends, sends, r); }
  std::span<const std::uint32_t> receives_of(Rank r) const { return slice(&Begins::receives, receives, r); }
  std::span<const std::uint32_t> locals_of(Rank r) const { return slice(&Begins::locals, locals, r); }

 private:
  std::span<const std::uint32_t> slice(std::uint32_t Begins::*list, const std::vector<std::uint32_t>& all, Rank r) const {
    const auto i = static_cast<std::size_t>(r);
    return {all.data() + begins[i].*list, all.data() + begins[i + 1].*list};
  }
};

// What a transfer costs an executor that moves no data.
struct Load {
  std::int64_t bytes = 0;
  bool reduces = false;
  friend bool operator==(const Load&, const Load&) = default;
};

struct IndexedStep {
  Step step;  // empty in a window that digests its steps
  std::shared_ptr<StepShape> shape;
  int ranks_inside = 0;              // ranks that have not left this step yet
  std::vector<Load> loads;           // the executor's: one per transfer, or one that stands for all
  std::vector<std::int64_t> posted;  // the executor's: when each transfer was posted; empty if it does not ask

  std::span<const Transfer> transfers() const { return step.transfers(); }
  const Load& load(std::uint32_t transfer) const { return loads.size() == 1 ? loads.front() : loads[transfer]; }
};

class StepWindow {
 public:
  // Takes from a fresh step's transfers what the executor will need of it; they are forgotten afterwards. Ranks may be a
  // thousand steps apart: what a step keeps decides whether the window fits the cache.
  using Digest = std::function<void(IndexedStep& step, std::span<const Transfer> transfers)>;

  StepWindow(const Steps& steps, int ranks, Digest digest = nullptr) : steps_(steps), ranks_(ranks), digest_(std::move(digest)) {}
  // A deque's own is not noexcept, and a vector would copy.
  StepWindow(StepWindow&&) noexcept = default;

  int count() const { return steps_.count(); }
  // The step, produced if need be. `step` must not have been left by all ranks. References stay valid until then.
  IndexedStep& at(int step) {
    while (step >= first_ + static_cast<int>(window_.size())) produce_next();
    return *window_[static_cast<std::size_t>(step - first_)];
  }
  // The step if it has been produced and not been left by all, or null.
  const IndexedStep* find(int step) const {
    const auto at = static_cast<std::size_t>(step - first_);
    return step >= first_ && at < window_.size() ? window_[at].get() : nullptr;
  }
  // Each rank leaves each step once, in order.
  void leave(int step) {
    --window_[static_cast<std::size_t>(step - first_)]->ranks_inside;
    while (!window_.empty() && window_.front()->ranks_inside == 0) drop_front();
  }
  // Nobody needs the step, which is the first that is left: it is not produced.
  void skip() { ++first_; }
  // All of them at once.
  void leave_for_all(int step) {
    window_[static_cast<std::size_t>(step - first_)]->ranks_inside = 0;
    while (!window_.empty() && window_.front()->ranks_inside == 0) drop_front();
  }

 private:
  void produce_next();
  void drop_front();

  const Steps& steps_;
  int ranks_;
  Digest digest_;
  Step scratch_;
  int first_ = 0;
  std::deque<std::unique_ptr<IndexedStep>> window_;
  std::vector<std::unique_ptr<IndexedStep>> spare_;
  std::shared_ptr<StepShape> last_shape_;
  std::vector<std::uint64_t> ends_;
};

}  // namespace weft
