// For tests: runs a StreamPlan on host memory, and finds what a device would get wrong only sometimes. Every stream has a
// vector clock; two accesses to the same bytes, one of them writing, must be ordered by streams, events and messages.
#pragma once

#include "collectives/executors/stream/plan.hpp"
#include "kernels/reduce.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace weft {

class PlanOnHost {
 public:
  // `messages` is the memory of each rank; the rest is made here.
  PlanOnHost(const StreamPlan& plan, std::span<std::byte* const> messages)
      : plan_(plan),
        memory_(messages.begin(), messages.end()),
        clocks_(static_cast<std::size_t>(plan.streams()), Clock(static_cast<std::size_t>(plan.streams()))),
        events_(static_cast<std::size_t>(plan.events)),
        marks_(static_cast<std::size_t>(plan.marks)),
        accesses_(plan.memories.size()) {
    for (std::size_t m = messages.size(); m < plan.memories.size(); ++m) {
      aside_.emplace_back(static_cast<std::size_t>(plan.memories[m]));
      memory_.push_back(aside_.back().data());
    }
  }

  // The first fault, or "".
  std::string run() {
    for (const StreamOperation& o : plan_.operations) {
      run(o);
      if (!fault_.empty()) return fmt::format("operation {}: {}", &o - plan_.operations.data(), fault_);
    }
    if (in_group_) return "the last group does not end";
    if (std::find(events_.begin(), events_.end(), Clock{}) != events_.end()) return "an event is never recorded";
    if (std::find(marks_.begin(), marks_.end(), 0) != marks_.end()) return "a mark is never made";
    return {};
  }
  // When each mark was made, counted in operations: a time that every stream agrees on.
  const std::vector<int>& marks() const { return marks_; }

 private:
  using Kind = StreamOperation::Kind;
  using Location = StreamOperation::Location;
  using Clock = std::vector<int>;

  struct Access {
    std::int64_t begin, end;
    bool write;
    int stream, time;
  };
  struct Message {
    Location from;
    std::int64_t bytes;
    Clock clock;
  };

  void run(const StreamOperation& o) {
    ++now_;
    if (in_group_ != (o.kind == Kind::send || o.kind == Kind::receive || o.kind == Kind::end_group))
      return fail("sends and receives, and nothing else, stand within a group");
    Clock& clock = clocks_[static_cast<std::size_t>(o.stream)];
    switch (o.kind) {
      case Kind::copy:
      case Kind::reduce:
      case Kind::reduce_many:
      case Kind::divide:
        ++clock[static_cast<std::size_t>(o.stream)];
        return compute(o, clock);
      case Kind::record:
        if (!events_[static_cast<std::size_t>(o.event)].empty()) return fail("the event has been recorded already");
        events_[static_cast<std::size_t>(o.event)] = clock;
        return;
      case Kind::wait:
        if (events_[static_cast<std::size_t>(o.event)].empty()) return fail("waits for an event that is not recorded yet");
        return join(clock, events_[static_cast<std::size_t>(o.event)]);
      case Kind::mark:
        if (marks_[static_cast<std::size_t>(o.event)] != 0) return fail("the mark has been made already");
        marks_[static_cast<std::size_t>(o.event)] = now_;
        return;
      case Kind::begin_group:
        in_group_ = true;
        before_group_ = clocks_;
        return;
      case Kind::end_group:
        in_group_ = false;
        for (const auto& [ends, sent] : sent_)
          if (!sent.empty()) fail(fmt::format("{} sends to {} what nobody receives", ends.first, ends.second));
        return;
      case Kind::send:
      case Kind::receive:
        message(o, clock);
    }
  }

  void compute(const StreamOperation& o, const Clock& clock) {
    if (o.kind == Kind::copy || o.kind == Kind::reduce) touch(o.from, o.bytes, false, o.stream, clock);
    std::vector<const void*> sources;
    for (int s = o.first_source; s < o.first_source + o.sources; ++s) {
      const Location source = plan_.sources[static_cast<std::size_t>(s)];
      touch(source, o.bytes, false, o.stream, clock);
      sources.push_back(at(source));
    }
    touch(o.into, o.bytes, true, o.stream, clock);
    if (!fault_.empty()) return;
    const auto count = static_cast<std::size_t>(o.bytes) / size_of(plan_.dtype);
    if (o.kind == Kind::copy) std::memcpy(at(o.into), at(o.from), static_cast<std::size_t>(o.bytes));
    if (o.kind == Kind::reduce) reduce(plan_.dtype, plan_.op, at(o.into), at(o.from), count);
    if (o.kind == Kind::reduce_many) reduce_many(plan_.dtype, plan_.op, at(o.into), sources, count);
    if (o.kind == Kind::divide) scale_average(plan_.dtype, at(o.into), count, plan_.workers);
  }

  // Whatever a group does on one stream happens at one time, in any order.
  void message(const StreamOperation& o, Clock& clock) {
    const auto own = static_cast<std::size_t>(o.stream);
    const Clock& before = before_group_[own];
    clock[own] = before[own] + 1;
    const Rank me = plan_.rank_of_stream(o.stream);
    if (o.kind == Kind::send) {
      touch(o.from, o.bytes, false, o.stream, before);
      sent_[{me, o.peer}].push_back({o.from, o.bytes, before});
      return;
    }
    auto& sent = sent_[{o.peer, me}];
    if (sent.empty()) return fail(fmt::format("{} receives from {} what is not sent", me, o.peer));
    const Message m = std::move(sent.front());
    sent.pop_front();
    if (m.bytes != o.bytes) return fail(fmt::format("{} sends {} bytes to {} which expects {}", o.peer, m.bytes, me, o.bytes));
    touch(o.into, o.bytes, true, o.stream, before);
    if (fault_.empty()) std::memcpy(at(o.into), at(m.from), static_cast<std::size_t>(o.bytes));
    join(clock, m.clock);
  }

  void touch(Location location, std::int64_t bytes, bool write, int stream, const Clock& clock) {
    const Access mine{location.offset, location.offset + bytes, write, stream,
                      clocks_[static_cast<std::size_t>(stream)][static_cast<std::size_t>(stream)]};
    if (mine.begin < 0 || mine.end > plan_.memories[static_cast<std::size_t>(location.memory)]) return fail("reaches beyond its memory");
    for (const Access& a : accesses_[static_cast<std::size_t>(location.memory)])
      if ((a.write || write) && a.begin < mine.end && mine.begin < a.end && clock[static_cast<std::size_t>(a.stream)] < a.time)
        return fail(fmt::format("{} bytes {} to {} of memory {} while stream {} {} some of them", write ? "writes" : "reads", mine.begin,
                                mine.end, location.memory, a.stream, a.write ? "writes" : "reads"));
    accesses_[static_cast<std::size_t>(location.memory)].push_back(mine);
  }

  static void join(Clock& into, const Clock& from) {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
  }
  std::byte* at(Location p) const { return memory_[static_cast<std::size_t>(p.memory)] + p.offset; }
  void fail(std::string what) {
    if (fault_.empty()) fault_ = std::move(what);
  }

  const StreamPlan& plan_;
  std::vector<std::byte*> memory_;
  std::deque<std::vector<std::byte>> aside_;
  std::vector<Clock> clocks_, events_, before_group_;
  std::vector<int> marks_;
  std::vector<std::vector<Access>> accesses_;
  std::map<std::pair<Rank, Rank>, std::deque<Message>> sent_;
  bool in_group_ = false;
  int now_ = 0;
  std::string fault_;
};

}  // namespace weft
