#include "collectives/schedule/replay.hpp"

#include "collectives/schedule/conditions.hpp"
#include "collectives/schedule/repeated_steps.hpp"
#include "collectives/schedule/share_trace.hpp"
#include "kernels/base/prefetch.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace weft {

namespace {

using Written = Contents::Written;

class Walk {
 public:
  Walk(const Schedule& schedule, const Part& part, const Shares& shares, std::int64_t max_ranges, Findings& findings)
      : schedule_(schedule), part_(part), chunks_(part.chunks), shares_(shares), max_ranges_(max_ranges), findings_(findings) {
    held_.reserve(static_cast<std::size_t>(schedule.ranks));
    writes_.resize(static_cast<std::size_t>(schedule.ranks));
    for (int r = 0; r < schedule.ranks; ++r) {
      Contents& contents = held_.emplace_back(chunks_.size());
      const ChunkRange held = held_at_start(schedule, r);
      const int first = chunks_.slot(held.first), last = chunks_.slot(held.last);
      if (first < last) contents.range(contents.cut(first, last)).holds = shares_.of(r);
      ranges_ += contents.ranges();
    }
  }

  bool run() {
    Step step;
    std::vector<int> few;
    if (chunks_.size() <= schedule_.chunks / few_of)
      for (int slot = 0; slot < chunks_.size(); ++slot) few.push_back(chunks_.chunk(slot));
    for (channel_ = part_.first_channel; channel_ < part_.last_channel; ++channel_) {
      const Steps& steps = schedule_.channels[channel_];
      // Repeated steps are in range, and know which of their transfers move a chunk.
      const auto* repeated = few.empty() ? nullptr : steps.made_by<RepeatedSteps>();
      for (step_ = 0; step_ < steps.count() && !findings_.enough(); ++step_) {
        if (repeated)
          repeated->produce_of(step_, few, step);
        else
          steps.produce(step_, step);
        if (well_formed(step)) apply(step);
        if (ranges_ > max_ranges_) return false;
      }
    }
    if (findings_.problems.empty() || findings_.wrong_chunks > 0) check_end();
    return true;
  }

 private:
  static constexpr int few_of = 4;  // chunks; of more of them the whole step is produced as fast
  // A run of slots of the receiver up to `end`, and what it is sent for them.
  struct Sent {
    int end;
    Fingerprint holds;
  };

  template <class... Args>
  void report(const Transfer& t, fmt::format_string<Args...> what, Args&&... args) {
    if (findings_.enough()) return;
    findings_.problems.push_back(place_of(schedule_, channel_, step_, t) + " " + fmt::format(what, std::forward<Args>(args)...));
  }

  bool well_formed(const Step& step) {
    const int total = schedule_.all_chunks();
    bool all_well = true;
    for (const Transfer& t : step.transfers()) {
      if (in_range(schedule_, t)) continue;
      all_well = false;
      if (t.from < 0 || t.from >= schedule_.ranks || t.to < 0 || t.to >= schedule_.ranks)
        report(t, "is not between ranks 0..{}", schedule_.ranks - 1);
      else if (t.count < 1)
        report(t, "moves {} chunks", t.count);
      else
        report(t, "moves chunks {} + {} to {}, but there are {}", t.chunk, t.count, t.into, total);
    }
    return all_well;
  }

  // All reads, then all writes in the order of the step.
  void apply(const Step& step) {
    sent_.clear();
    const std::span<const Transfer> transfers = step.transfers();
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      fetch(transfers, i, &Transfer::from);
      read(transfers[i]);
    }
    next_ = sent_.data();
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      const Transfer& t = transfers[i];
      fetch(transfers, i, &Transfer::to);
      write(t);
      if (ranges_ > max_ranges_) return;  // a step can make many of few
      if (writes_to(t) == 1) settle(t);   // at once, as long as it is in the cache
    }
    for (const Transfer& t : step.transfers())
      if (writes_to(t) > 1) settle(t);
    for (const Transfer& t : step.transfers()) writes_to(t) = 0;
  }

  // What ranks hold is at places without order in memory: that of some transfers ahead is asked for, first where it is, then itself.
  void fetch(std::span<const Transfer> transfers, std::size_t i, Rank Transfer::*rank) const {
    constexpr std::size_t near = 4, far = 8;
    if (i + far < transfers.size()) prefetch(&held_[static_cast<std::size_t>(transfers[i + far].*rank)]);
    if (i + near < transfers.size()) held_[static_cast<std::size_t>(transfers[i + near].*rank)].fetch();
  }

  int& writes_to(const Transfer& t) { return writes_[static_cast<std::size_t>(t.to)]; }

  bool several_channels() const { return part_.last_channel - part_.first_channel > 1; }

  int cut(Contents& contents, int first, int last) {
    ranges_ -= contents.ranges();
    const int i = contents.cut(first, last);
    ranges_ += contents.ranges();
    return i;
  }

  void touch(const Transfer& t, Contents::Range& range, int end, Rank rank) {
    const auto channel = static_cast<std::uint32_t>(channel_);
    if (range.channel == Contents::no_channel) range.channel = channel & Contents::no_channel;
    if (range.channel == channel) return;
    for (int slot = range.begin; slot < end && !findings_.enough(); ++slot)
      report(t, "touches rank {}'s chunk {}, which channel {} uses too", rank, chunks_.chunk(slot),
             static_cast<std::uint32_t>(range.channel));
  }

  void read(const Transfer& t) {
    ++writes_to(t);
    const int first = chunks_.slot(t.chunk), last = chunks_.slot(t.chunk + t.count);
    if (first == last) return;
    Contents& from = held_[static_cast<std::size_t>(t.from)];
    const int to_receiver = t.into == t.chunk ? 0 : chunks_.slot(t.into) - first;
    const Fingerprint moved = t.into == t.chunk ? Fingerprint{1, 1} : shares_.moved(t.into - t.chunk);
    const bool carries_data = schedule_.collective != Collective::barrier;
    const std::size_t before = sent_.size();
    for (int i = several_channels() ? cut(from, first, last) : from.find(first); i < from.ranges() && from.range(i).begin < last; ++i) {
      Contents::Range& range = from.range(i);
      const int end = std::min(from.end(i), last);
      if (several_channels()) touch(t, range, end, t.from);
      if (range.holds.empty() && carries_data) [[unlikely]]
        for (int slot = std::max(range.begin, first); slot < end && !findings_.enough(); ++slot)
          report(t, "sends chunk {}, which rank {} never held", chunks_.chunk(slot), t.from);
      const Fingerprint holds = range.holds * moved;
      if (sent_.size() > before && sent_.back().holds == holds)
        sent_.back().end = end + to_receiver;
      else
        sent_.push_back({end + to_receiver, holds});
    }
  }

  void write(const Transfer& t) {
    const int last = chunks_.slot(t.into + t.count);
    Contents& to = held_[static_cast<std::size_t>(t.to)];
    for (int first = chunks_.slot(t.into); first < last; first = next_++->end)
      for (int i = cut(to, first, next_->end); i < to.ranges() && to.range(i).begin < next_->end; ++i) {
        if (several_channels()) touch(t, to.range(i), to.end(i), t.to);
        write(t, to.range(i), to.end(i));
      }
  }

  void write(const Transfer& t, Contents::Range& range, int end) {
    const auto written = static_cast<Written>(static_cast<std::uint32_t>(range.written));
    const auto each_chunk = [&](const auto& say) {
      for (int slot = range.begin; slot < end && !findings_.enough(); ++slot) say(chunks_.chunk(slot));
    };
    if (!t.reduces && written != Written::no) [[unlikely]]
      each_chunk([&](int chunk) {
        report(t, "overwrites chunk {}, which the same step has {} before", chunk, written == Written::copied ? "overwritten" : "added to");
      });
    range.written = static_cast<std::uint32_t>(t.reduces ? Written::added : Written::copied) & 3U;
    if (!t.reduces) {
      range.holds = next_->holds;
    } else {
      if (range.holds.empty()) [[unlikely]]
        each_chunk([&](int chunk) { report(t, "adds to chunk {}, which rank {} never held", chunk, t.to); });
      range.holds += next_->holds;
    }
  }

  void settle(const Transfer& t) {
    const int first = chunks_.slot(t.into), last = chunks_.slot(t.into + t.count);
    if (first == last) return;
    Contents& to = held_[static_cast<std::size_t>(t.to)];
    ranges_ -= to.ranges();
    to.settle(first, last);
    ranges_ += to.ranges();
  }

  // Compares every chunk with what is due, and says why the first wrong one is wrong.
  void check_end() {
    for (int r = 0; r < schedule_.ranks; ++r)
      for (int slot = 0, end = 0; slot < chunks_.size(); slot = end) {
        const int chunk = chunks_.chunk(slot);
        end = chunks_.slot(due_alike_until(schedule_, r, chunk));
        if (const std::optional<Content> due = due_at_end(schedule_, r, chunk)) compare(r, slot, end, *due);
      }
  }

  void compare(Rank rank, int first, int last, const Content& due) {
    const int distance = chunks_.chunk(first) - due.chunk;
    const Fingerprint wanted = distance == 0 ? shares_.of(due.whose) : shares_.of(due.whose) * shares_.moved(distance);
    Contents& contents = held_[static_cast<std::size_t>(rank)];
    for (int i = contents.find(first); i < contents.ranges() && contents.range(i).begin < last; ++i) {
      if (contents.range(i).holds == wanted) continue;
      const int from = std::max(contents.range(i).begin, first);
      if (findings_.wrong_chunks == 0) {
        const int chunk = chunks_.chunk(from);
        findings_.problems.push_back(explain_wrong_chunk(schedule_, rank, chunk, {due.whose, chunk - distance}));
      }
      findings_.wrong_chunks += std::min(contents.end(i), last) - from;
    }
  }

  const Schedule& schedule_;
  const Part& part_;
  const ChunkSet& chunks_;
  const Shares& shares_;
  std::int64_t max_ranges_;
  Findings& findings_;
  std::vector<Contents> held_;  // by rank
  std::int64_t ranges_ = 0;     // of all ranks
  std::vector<int> writes_;     // by rank: transfers to it in the step
  std::vector<Sent> sent_;      // in the step, transfer by transfer
  const Sent* next_ = nullptr;
  std::size_t channel_ = 0;
  int step_ = 0;
};

}  // namespace

bool in_range(const Schedule& s, const Transfer& t) {
  const int total = s.all_chunks();
  return t.from >= 0 && t.from < s.ranks && t.to >= 0 && t.to < s.ranks && t.count >= 1 && t.count <= total && t.chunk >= 0 &&
         t.chunk <= total - t.count && t.into >= 0 && t.into <= total - t.count;
}

bool replay(const Schedule& schedule, const Part& part, const Shares& shares, std::int64_t max_ranges, Findings& findings) {
  return part.chunks.size() == 0 || Walk(schedule, part, shares, max_ranges, findings).run();
}

}  // namespace weft
