// The rounds of a worker of an open task, by the numbers of their packets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

namespace weft {

class OpenRounds {
 public:
  void add(std::uint32_t packets) { ahead_.push_back(packets); }
  bool any_ahead() const { return !ahead_.empty(); }
  // The next begins: its last packet's number, and one. `end`: that of the one before.
  std::uint32_t begin(std::uint32_t end) {
    ends_.push_back(end + ahead_.front());
    ahead_.pop_front();
    return ends_.back();
  }
  // Of those that have begun: whose packets are all below `done`, below which all have come back.
  std::int64_t ended(std::uint32_t done) const { return std::ranges::upper_bound(ends_, done) - ends_.begin(); }

 private:
  std::deque<std::uint32_t> ahead_;  // packets
  std::vector<std::uint32_t> ends_;
};

}  // namespace weft
