#include "models/traces/goal_rank.hpp"

#include <map>

namespace weft {

GoalRank::GoalRank(Rank rank, const std::string& file, const char* record_name) {
  rank_.rank = rank;
  rank_.file = file;
  rank_.record_name = record_name;
}

std::uint32_t GoalRank::add(const TracedOperation& operation) {
  rank_.operations.push_back(operation);
  after_.emplace_back();
  return count() - 1;
}

void GoalRank::resolve_starts() {
  std::map<std::uint32_t, std::vector<std::uint32_t>> starts_of;
  for (const Start& start : starts_) starts_of[start.operation].push_back(start.before);
  enum class State { new_one, open, done };
  std::map<std::uint32_t, State> states;
  for (const auto& [first, unused] : starts_of) {
    std::vector<std::uint32_t> stack = {first};
    while (!stack.empty()) {
      const std::uint32_t operation = stack.back();
      const auto waits = starts_of.find(operation);
      State& state = states[operation];
      if (state == State::done || waits == starts_of.end()) {
        state = State::done;
        stack.pop_back();
        continue;
      }
      if (state == State::open) {  // those it may start with are done
        for (const std::uint32_t before : waits->second)
          after_[operation].insert(after_[operation].end(), after_[before].begin(), after_[before].end());
        std::ranges::sort(after_[operation]);
        after_[operation].erase(std::unique(after_[operation].begin(), after_[operation].end()), after_[operation].end());
        std::erase(after_[operation], operation);
        state = State::done;
        stack.pop_back();
        continue;
      }
      state = State::open;
      for (const std::uint32_t before : waits->second) {
        if (states[before] == State::open)
          throw InputError(fmt::format("{}: starts after an operation that starts after it", rank_.place(operation)));
        if (states[before] == State::new_one) stack.push_back(before);
      }
    }
  }
}

TracedRank GoalRank::finish() {
  resolve_starts();
  for (auto& before : after_) {
    std::ranges::sort(before);
    before.erase(std::unique(before.begin(), before.end()), before.end());
  }
  return in_order_of_dependence(std::move(rank_), after_);
}

}  // namespace weft
