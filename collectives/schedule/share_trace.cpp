#include "collectives/schedule/share_trace.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
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
  RankSet& at(Rank rank, int chunk) {
    places_.insert(chunk);
    return held_.try_emplace(key(rank, chunk), schedule_.ranks).first->second;
  }

  // Only chunks in which some rank holds a share are looked at: mostly the one that is followed.
  template <class Each>
  void for_each_chunk(int first, int count, const Each& each) const {
    for (auto place = places_.lower_bound(first); place != places_.end() && *place < first + count; ++place) each(*place);
  }

  std::string apply(const Step& step, std::size_t channel, int k) {
    struct Sent {
      std::size_t transfer;
      int into;
      RankSet shares;
    };
    std::vector<Sent> sent;
    std::size_t i = 0;
    for (const Transfer& t : step.transfers()) {
      for_each_chunk(t.chunk, t.count, [&](int chunk) {
        if (const auto found = held_.find(key(t.from, chunk)); found != held_.end())
          sent.push_back({i, t.into + chunk - t.chunk, found->second});
      });
      ++i;
    }

    std::string culprit;
    auto next = sent.begin();
    i = 0;
    for (const Transfer& t : step.transfers()) {
      if (!t.reduces) for_each_chunk(t.into, t.count, [&](int chunk) { held_.erase(key(t.to, chunk)); });
      for (; next != sent.end() && next->transfer == i; ++next) {
        RankSet& into = at(t.to, next->into);
        if (culprit.empty() && into.meets(next->shares)) culprit = twice(place_of(schedule_, channel, k, t), into, next->shares);
        into.add(next->shares);
      }
      ++i;
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
  std::set<int> places_;  // chunks in which something is or was held
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

namespace {

// Ranks as ranges [first, last) in ascending order that do not touch: who has been heard of mostly are neighbours.
using RankRanges = std::vector<std::pair<Rank, Rank>>;

RankRanges united(const RankRanges& a, const RankRanges& b) {
  RankRanges all, result;
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
  for (const auto& [first, last] : all)
    if (!result.empty() && first <= result.back().second)
      result.back().second = std::max(result.back().second, last);
    else
      result.emplace_back(first, last);
  return result;
}

}  // namespace

std::string explain_barrier(const Schedule& schedule) {
  std::vector<RankRanges> heard;
  for (int r = 0; r < schedule.ranks; ++r) heard.push_back({{r, r + 1}});
  Step step;
  for (int k = 0; k < schedule.steps(); ++k) {
    schedule.channels.front().produce(k, step);
    const std::vector<RankRanges> before = heard;
    for (const Transfer& t : step.transfers()) {
      RankRanges& of = heard[static_cast<std::size_t>(t.to)];
      of = united(of, before[static_cast<std::size_t>(t.from)]);
    }
  }
  for (int r = 0; r < schedule.ranks; ++r) {
    const auto [first, last] = heard[static_cast<std::size_t>(r)].front();
    if (last - first < schedule.ranks) return fmt::format("after the last step rank {} has not heard of rank {}", r, first > 0 ? 0 : last);
  }
  return "";
}

}  // namespace weft
