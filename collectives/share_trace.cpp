#include "collectives/share_trace.hpp"

#include <cstdint>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace weft {

namespace {

class RankSet {
 public:
  explicit RankSet(int ranks) : words_(static_cast<std::size_t>(ranks + 63) / 64) {}
  void insert(Rank r) { word(r) |= bit(r); }
  bool contains(Rank r) const { return (words_[static_cast<std::size_t>(r) / 64] & bit(r)) != 0; }
  void add(const RankSet& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }
  bool meets(const RankSet& other) const {
    for (std::size_t i = 0; i < words_.size(); ++i)
      if ((words_[i] & other.words_[i]) != 0) return true;
    return false;
  }

 private:
  std::uint64_t& word(Rank r) { return words_[static_cast<std::size_t>(r) / 64]; }
  static std::uint64_t bit(Rank r) { return std::uint64_t{1} << (r % 64); }
  std::vector<std::uint64_t> words_;
};

// Where the shares of one chunk of the message are.
class ShareTrace {
 public:
  ShareTrace(const Schedule& schedule, int chunk) : schedule_(schedule), chunk_(chunk) {
    for (int r = 0; r < schedule.ranks; ++r)
      if (holds_at_start(schedule, r, chunk)) at(r, chunk).insert(r);
  }

  // Walks the schedule; returns the first double counting, if any.
  std::string walk() {
    std::string culprit;
    Step step;
    for (std::size_t c = 0; c < schedule_.channels.size(); ++c)
      for (int k = 0; k < schedule_.channels[c].count(); ++k) {
        schedule_.channels[c].produce(k, step);
        std::string found = apply(step, c, k);
        if (culprit.empty()) culprit = std::move(found);
      }
    return culprit;
  }

  RankSet shares(Rank rank, int chunk) const {
    const auto found = held_.find(key(rank, chunk));
    return found == held_.end() ? RankSet(schedule_.ranks) : found->second;
  }

 private:
  static std::uint64_t key(Rank rank, int chunk) { return static_cast<std::uint64_t>(rank) << 32 | static_cast<std::uint32_t>(chunk); }
  RankSet& at(Rank rank, int chunk) { return held_.try_emplace(key(rank, chunk), schedule_.ranks).first->second; }

  std::string apply(const Step& step, std::size_t channel, int k) {
    std::vector<std::pair<std::size_t, RankSet>> sent;  // (which chunk of the step, its shares), for chunks with any
    std::size_t i = 0;
    for (const Transfer& t : step.transfers())
      for (int j = 0; j < t.count; ++j, ++i)
        if (const auto found = held_.find(key(t.from, t.chunk + j)); found != held_.end()) sent.emplace_back(i, found->second);

    std::string culprit;
    auto next = sent.begin();
    i = 0;
    for (const Transfer& t : step.transfers())
      for (int j = 0; j < t.count; ++j, ++i) {
        const bool brings = next != sent.end() && next->first == i;
        if (!t.reduces) held_.erase(key(t.to, t.into + j));
        if (!brings) continue;
        RankSet& into = at(t.to, t.into + j);
        if (culprit.empty() && into.meets(next->second)) culprit = twice(place_of(schedule_, channel, k, t), into, next->second);
        into.add(next->second);
        ++next;
      }
    return culprit;
  }

  std::string twice(const std::string& place, const RankSet& has, const RankSet& gets) const {
    Rank r = 0;
    while (!(has.contains(r) && gets.contains(r))) ++r;
    return fmt::format("{} adds rank {}'s share of chunk {} twice", place, r, chunk_);
  }

  const Schedule& schedule_;
  int chunk_;
  std::unordered_map<std::uint64_t, RankSet> held_;
};

}  // namespace

std::string place_of(const Schedule& schedule, std::size_t channel, int step, const Transfer& t) {
  const std::string where = schedule.channels.size() > 1 ? fmt::format("channel {}, ", channel) : "";
  return fmt::format("{}step {}: {}->{}", where, step, t.from, t.to);
}

std::string explain_wrong_chunk(const Schedule& schedule, Rank rank, int chunk, const Content& due) {
  ShareTrace trace(schedule, due.chunk);
  std::string culprit = trace.walk();
  if (!culprit.empty()) return culprit;
  const RankSet has = trace.shares(rank, chunk);
  const auto at_end = fmt::format("after the last step rank {}'s chunk {}", rank, chunk);
  for (int r = 0; r < schedule.ranks; ++r) {
    const bool wanted = due.whose == Content::everyone ? r < schedule.workers() : due.whose == r;
    if (wanted && !has.contains(r)) return fmt::format("{} lacks rank {}", at_end, r);
    if (!wanted && has.contains(r)) return fmt::format("{} holds rank {}'s share too", at_end, r);
  }
  return fmt::format("{} holds shares of other chunks than {}", at_end, due.chunk);
}

std::string explain_barrier(const Schedule& schedule) {
  std::vector<RankSet> heard(static_cast<std::size_t>(schedule.ranks), RankSet(schedule.ranks));
  for (int r = 0; r < schedule.ranks; ++r) heard[static_cast<std::size_t>(r)].insert(r);
  Step step;
  for (int k = 0; k < schedule.steps(); ++k) {
    schedule.channels.front().produce(k, step);
    const std::vector<RankSet> before = heard;
    for (const Transfer& t : step.transfers()) heard[static_cast<std::size_t>(t.to)].add(before[static_cast<std::size_t>(t.from)]);
  }
  for (int r = 0; r < schedule.ranks; ++r)
    for (int other = 0; other < schedule.ranks; ++other)
      if (!heard[static_cast<std::size_t>(r)].contains(other))
        return fmt::format("after the last step rank {} has not heard of rank {}", r, other);
  return "";
}

}  // namespace weft
