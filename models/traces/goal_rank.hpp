// A rank of a GOAL schedule while it is read.
#pragma once

#include "models/traces/builder.hpp"

#include <vector>

namespace weft {

class GoalRank {
 public:
  GoalRank(Rank rank, const std::string& file, const char* record_name);

  std::uint32_t add(const TracedOperation&);
  std::uint32_t count() const { return static_cast<std::uint32_t>(rank_.operations.size()); }
  void wait_for_end(std::uint32_t operation, std::uint32_t before) { after_[operation].push_back(before); }
  void wait_for_start(std::uint32_t operation, std::uint32_t before) { starts_.push_back({operation, before}); }

  TracedRank finish();

 private:
  // What may start once another has started waits for all that the other waits for.
  void resolve_starts();

  struct Start {
    std::uint32_t operation, before;
  };

  TracedRank rank_;
  std::vector<std::vector<std::uint32_t>> after_;
  std::vector<Start> starts_;
};

constexpr std::int64_t max_goal_ranks = 1 << 20;
constexpr std::uint64_t longest_goal_ns = 9'000'000'000'000'000;  // 104 days

}  // namespace weft
