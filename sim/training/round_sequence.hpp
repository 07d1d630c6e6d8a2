// The orders of a job whose all-reduces are rounds of one in-network job: whatever their streams, all ranks go through them in the order in
// which the first rank to begin each begins it.
#pragma once

#include "collectives/schedule/schedule.hpp"

#include <cstdint>
#include <deque>
#include <set>
#include <utility>
#include <vector>

namespace weft {

class RoundSequence {
 public:
  explicit RoundSequence(int ranks) : of_rank_(static_cast<std::size_t>(ranks)) {}

  // The rank takes part in the order from now on: the orders whose rounds it may begin, in turn.
  std::vector<int> join(Rank rank, int order) {
    if (known_.insert(order).second) sequence_.push_back(order);
    OfRank& own = of_rank_[static_cast<std::size_t>(rank)];
    own.joined.insert(order);
    std::vector<int> out;
    for (; own.begun < sequence_.size() && own.joined.erase(sequence_[own.begun]) > 0; ++own.begun) out.push_back(sequence_[own.begun]);
    return out;
  }
  // The next of the rank's rounds has ended: that of which order.
  int end_next(Rank rank) { return sequence_[of_rank_[static_cast<std::size_t>(rank)].ended++]; }

 private:
  struct OfRank {
    std::set<int> joined = {};  // that may not begin yet
    std::size_t begun = 0, ended = 0;
  };

  std::vector<int> sequence_;
  std::set<int> known_;
  std::vector<OfRank> of_rank_;
};

}  // namespace weft
