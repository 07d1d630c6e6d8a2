#include "collectives/schedule/merge_steps.hpp"

#include "kernels/base/error.hpp"

#include <algorithm>

namespace weft {
namespace {

bool alike(const Step& a, const Step& b) {
  return std::ranges::equal(a.transfers(), b.transfers(), [](const Transfer& x, const Transfer& y) {
    return x.from == y.from && x.to == y.to && x.count == y.count && x.reduces == y.reduces;
  });
}

// Whether those who send wait for those they send to, by way of others: what is left when ranks that nobody sends to go, one after the
// other.
bool goes_in_circles(const Step& step, int ranks) {
  std::vector<int> senders_to(static_cast<std::size_t>(ranks));
  std::vector<std::vector<Rank>> receivers(static_cast<std::size_t>(ranks));
  for (const Transfer& t : step.transfers()) {
    if (t.from == t.to) continue;
    ++senders_to[static_cast<std::size_t>(t.to)];
    receivers[static_cast<std::size_t>(t.from)].push_back(t.to);
  }
  std::vector<Rank> first;
  for (Rank r = 0; r < ranks; ++r)
    if (senders_to[static_cast<std::size_t>(r)] == 0) first.push_back(r);
  for (std::size_t i = 0; i < first.size(); ++i)
    for (const Rank to : receivers[static_cast<std::size_t>(first[i])])
      if (--senders_to[static_cast<std::size_t>(to)] == 0) first.push_back(to);
  return first.size() < static_cast<std::size_t>(ranks);
}

class Merger {
 public:
  Merger(int chunks, int ranks, int pieces, Steps& steps, std::vector<StandsFor>& stands_for)
      : chunks_(chunks), ranks_(ranks), pieces_(pieces), steps_(steps), stands_for_(stands_for) {}

  void add_row(const Step& step, int length) {
    int largest = 1;
    for (const Transfer& t : step.transfers()) largest = std::max(largest, t.count);
    const int most = std::max(1, chunks_ / largest), cuts = std::max(std::min(pieces_, length), (length + most - 1) / most);
    const bool in_turn = length == 1 || goes_in_circles(step, ranks_);
    for (int cut = 0, done = 0; cut < cuts; ++cut) {
      const int upto = static_cast<int>(std::int64_t{length} * (cut + 1) / cuts);
      add(step, {upto - done, in_turn});
      done = upto;
    }
  }

 private:
  void add(const Step& step, StandsFor times) {
    Step& out = steps_.add();
    for (Transfer t : step.transfers()) {
      t.chunk = t.into = 0;
      t.count *= times.steps;
      t.reduces ? out.reduce(t) : out.copy(t);
    }
    stands_for_.push_back(times);
  }

  const int chunks_, ranks_, pieces_;
  Steps& steps_;
  std::vector<StandsFor>& stands_for_;
};

}  // namespace

MergedSchedule merge_steps(const Schedule& schedule, int pieces) {
  check(pieces > 0, "steps merged to {}", pieces);
  MergedSchedule out{schedule, {}};
  out.schedule.channels.clear();
  out.schedule.last_piece = {};  // each step moves so many chunks of the message, whichever
  for (const Steps& steps : schedule.channels) {
    Steps merged;
    Merger merger(schedule.chunks, schedule.ranks, pieces, merged, out.stands_for.emplace_back());
    Step row, next;
    int length = 0;
    for (int k = 0; k < steps.count(); ++k) {
      steps.produce(k, next);
      if (length > 0 && !alike(row, next)) {
        merger.add_row(row, length);
        length = 0;
      }
      if (length++ == 0) std::swap(row, next);
    }
    if (length > 0) merger.add_row(row, length);
    out.schedule.channels.push_back(std::move(merged));
  }
  return out;
}

}  // namespace weft
