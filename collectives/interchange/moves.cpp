#include "collectives/interchange/moves.hpp"

#include "kernels/base/error.hpp"
#include "kernels/base/index.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <utility>

namespace weft {
namespace {

// Orders by their first move.
class Followers {
 public:
  Followers(std::size_t moves, const std::vector<MoveOrder>& orders) : begin_(moves + 1) {
    for (const MoveOrder& o : orders) ++begin_[at(o.first) + 1];
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    sorted_.resize(orders.size());
    std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
    for (const MoveOrder& o : orders) sorted_[next[at(o.first)]++] = o;
  }
  std::span<const MoveOrder> of(int move) const {
    return std::span(sorted_).subspan(begin_[at(move)], begin_[at(move) + 1] - begin_[at(move)]);
  }

 private:
  std::vector<std::size_t> begin_;
  std::vector<MoveOrder> sorted_;
};

// The earliest step of each move: the longest way to it. What is in no circle is done in one pass; circles are allowed where nothing
// in them must come later (two ranks that overwrite what they send each other), and the others grow without end.
class Levels {
 public:
  explicit Levels(const MoveProgram& p) : program_(p), followers_(p.moves.size(), p.orders), steps_(p.moves.size(), 0) {}

  std::vector<int> find() {
    std::vector<int> waits(steps_.size(), 0);
    for (const MoveOrder& o : program_.orders) ++waits[at(o.second)];
    std::deque<int> ready;
    for (std::size_t i = 0; i < waits.size(); ++i)
      if (waits[i] == 0) ready.push_back(static_cast<int>(i));
    std::size_t done = 0;
    for (; !ready.empty(); ready.pop_front(), ++done)
      for (const MoveOrder& o : followers_.of(ready.front())) {
        raise(o);
        if (--waits[at(o.second)] == 0) ready.push_back(o.second);
      }
    if (done < steps_.size()) relax_circles(waits);
    return std::move(steps_);
  }

 private:
  bool raise(const MoveOrder& o) {
    const int least = steps_[at(o.first)] + o.gap;
    if (steps_[at(o.second)] >= least) return false;
    steps_[at(o.second)] = least;
    return true;
  }

  void relax_circles(const std::vector<int>& waits) {
    std::deque<int> changed;
    std::vector<bool> queued(steps_.size(), false);
    int left = 0;
    for (std::size_t i = 0; i < waits.size(); ++i)
      if (waits[i] > 0) changed.push_back(static_cast<int>(i)), queued[i] = true, ++left;
    const int highest = *std::max_element(steps_.begin(), steps_.end()) + left;  // on a way without a circle
    while (!changed.empty()) {
      const int move = changed.front();
      changed.pop_front();
      queued[at(move)] = false;
      for (const MoveOrder& o : followers_.of(move)) {
        if (!raise(o)) continue;
        if (steps_[at(o.second)] > highest)
          throw InputError(fmt::format("{} waits for itself: its thread blocks would deadlock", program_.name(o.second)));
        if (!queued[at(o.second)]) changed.push_back(o.second), queued[at(o.second)] = true;
      }
    }
  }

  const MoveProgram& program_;
  Followers followers_;
  std::vector<int> steps_;
};

class Sets {
 public:
  explicit Sets(int n) : parent_(at(n)) { std::iota(parent_.begin(), parent_.end(), 0); }
  int find(int i) {
    while (parent_[at(i)] != i) i = parent_[at(i)] = parent_[at(parent_[at(i)])];
    return i;
  }
  // The lower number stands for both.
  void join(int a, int b) {
    const int one = find(a), other = find(b);
    parent_[at(std::max(one, other))] = std::min(one, other);
  }

 private:
  std::vector<int> parent_;
};

// Channels that touch a chunk of a rank in common, or wait for one another, are one.
std::vector<int> joined_channels(const MoveProgram& p) {
  Sets sets(p.channels);
  std::map<std::pair<Rank, int>, int> first;
  for (const Move& m : p.moves) {
    const auto touch = [&](Rank rank, int chunk) {
      for (int c = chunk; c < chunk + m.transfer.count; ++c)
        if (const auto [there, added] = first.try_emplace({rank, c}, m.channel); !added) sets.join(there->second, m.channel);
    };
    touch(m.transfer.from, m.transfer.chunk);
    touch(m.transfer.to, m.transfer.into);
  }
  for (const MoveOrder& o : p.orders) sets.join(p.moves[at(o.first)].channel, p.moves[at(o.second)].channel);
  std::vector<int> numbers(at(p.channels), -1), out;
  int next = 0;
  for (const Move& m : p.moves)
    if (int& number = numbers[at(sets.find(m.channel))]; number < 0 && m.moves()) number = next++;
  for (int c = 0; c < p.channels; ++c) out.push_back(std::max(0, numbers[at(sets.find(c))]));
  return out;
}

bool says_steps(const MoveProgram& p) {
  return std::ranges::any_of(p.moves, &Move::moves) &&
         std::ranges::all_of(p.moves, [](const Move& m) { return m.step >= 0 || !m.moves(); });
}

void check_said_steps(const MoveProgram& p) {
  for (const MoveOrder& o : p.orders)
    if (p.moves[at(o.first)].moves() && p.moves[at(o.second)].moves() && p.moves[at(o.second)].step < p.moves[at(o.first)].step)
      throw InputError(fmt::format("{} has step {}, but waits for {}, which has step {}", p.name(o.second), p.moves[at(o.second)].step,
                                   p.name(o.first), p.moves[at(o.first)].step));
}

}  // namespace

Schedule scheduled(const MoveProgram& p) {
  const bool said = says_steps(p);
  if (said) check_said_steps(p);
  const std::vector<int> channels = said ? std::vector<int>{} : joined_channels(p);
  const std::vector<int> levels = said ? std::vector<int>{} : Levels(p).find();
  struct Placed {
    int channel, step, position, move;
    auto operator<=>(const Placed&) const = default;
  };
  std::vector<Placed> placed;
  for (int i = 0; i < static_cast<int>(p.moves.size()); ++i) {
    const Move& m = p.moves[at(i)];
    if (!m.moves()) continue;
    placed.push_back(said ? Placed{m.channel, m.step, m.position, i} : Placed{channels[at(m.channel)], levels[at(i)], i, i});
  }
  std::ranges::sort(placed);
  Schedule out = p.frame;
  const int count = said ? p.channels : channels.empty() ? 1 : *std::ranges::max_element(channels) + 1;
  out.channels.assign(at(count), Steps());
  Step* last = nullptr;  // of the channel's steps
  for (const Placed& one : placed) {
    Steps& steps = out.channels[at(one.channel)];
    while (steps.count() <= one.step) last = &steps.add();
    const Transfer& t = p.moves[at(one.move)].transfer;
    t.reduces ? last->reduce(t) : last->copy(t);
  }
  return out;
}

}  // namespace weft
