// What made a run take as long as it did: the chain of messages, each released by the one before, from its first start to its
// last end, and what each part of that time was spent on. Recorded while a run goes on (32 bytes a message), walked once when
// it has ended.
#pragma once

#include "collectives/schedule/schedule.hpp"
#include "kernels/base/prefetch.hpp"
#include "kernels/base/units.hpp"
#include "models/fabric/fabric.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace weft {

// The end of a chain: its last message, and what the time since that ended was spent on. The rest is overheads.
struct ChainEnd {
  static constexpr std::uint32_t none = UINT32_MAX;
  std::uint32_t message = none;  // none: the time since the first start
  Rank rank = 0;                 // that reduces
  std::int64_t reducing_ps = 0, waiting_ps = 0, computing_ps = 0;
};

// What a critical path was spent on. The parts sum up to it.
struct PathParts {
  SimTime latency = {};                         // of the paths of its messages
  SimTime overhead = {};                        // of sends, receives, rendezvous, connections, launches of reductions
  SimTime waiting = {};                         // for ranks that start late, and in queues of sends
  SimTime computing = {};                       // of programs
  std::map<LinkId, SimTime> links = {};         // while messages crossed links: by the link that decided their rate
  std::map<Rank, SimTime> reduce_engines = {};  // by the rank that reduced

  PathParts& operator+=(const PathParts& other);
};

// A link that decided a flow's rate, until then. -1: a cap of the flow's rate did.
struct BottleneckSpan {
  LinkId link = 0;
  std::int64_t until_ps = 0;
};

inline constexpr std::size_t page_of_records = std::size_t{1} << 21;
void* new_page();  // of so many bytes, aligned to them
void free_page(void* page);

// A list that grows by 2 MiB at once, in huge pages where the system has them: pages are what a long run's records cost most.
template <class T>
class PagedList {
 public:
  std::size_t size() const { return size_; }
  void clear() { size_ = 0; }
  T& operator[](std::size_t i) { return pages_[i / per_page].get()[i % per_page]; }
  const T& operator[](std::size_t i) const { return pages_[i / per_page].get()[i % per_page]; }
  T& push_back(const T& value) {
    if (size_ == pages_.size() * per_page) pages_.emplace_back(static_cast<T*>(new_page()));
    return (*this)[size_++] = value;
  }

 private:
  static constexpr std::size_t per_page = page_of_records / sizeof(T);
  struct Free {
    void operator()(T* page) const { free_page(page); }
  };
  std::vector<std::unique_ptr<T, Free>> pages_;
  std::size_t size_ = 0;
};

class PathRecorder {
 public:
  static constexpr std::uint32_t none = ChainEnd::none;
  // Of messages, and of changes of their bottleneck: longer runs are not recorded. 128 and 64 MiB.
  static constexpr std::size_t most = std::size_t{1} << 22;

  // Forgets what was recorded, and whether that was too much.
  void clear();
  bool complete() const { return !full_; }
  // So many messages are about to come: where that is too many, none of them is recorded.
  void expect(std::size_t messages) { full_ = full_ || messages_.size() + messages > most; }

  // A message that leaves at `at`, released by what `after` says.
  std::uint32_t begin(const ChainEnd& after, std::uint32_t route, std::int64_t at_ps) {
    if (messages_.size() == most) full_ = true;
    if (full_) return none;
    Message& message = messages_.push_back({.after = after.message, .route = route, .at_ps = at_ps});
    if (after.reducing_ps > 0 || after.waiting_ps > 0 || after.computing_ps > 0) {
      message.spent = static_cast<std::uint32_t>(spent_.size());
      spent_.push_back(after);
    }
    return static_cast<std::uint32_t>(messages_.size() - 1);
  }

  // It is about to end.
  void fetch(std::uint32_t message) const {
    if (message < messages_.size()) prefetch(&messages_[message]);
  }

  // `link` was the bottleneck when it ended, and `before` were until then, the latest first.
  template <class Spans>
  void end(std::uint32_t message, std::int64_t ended_ps, LinkId link, const Spans& before) {
    if (message == none) return;
    Message& recorded = messages_[message];
    recorded.ended_ps = ended_ps;
    recorded.bottleneck = link;
    if (before.begin() == before.end()) return;
    recorded.bottleneck = first_span - static_cast<LinkId>(spans_.size());
    spans_.push_back({link, ended_ps});
    for (const BottleneckSpan& span : before) spans_.push_back(span);
    spans_.push_back({first_span, 0});
    full_ = full_ || spans_.size() > most;
  }

  // Of a path that began and ended then, at `last`. `latency`: of a route.
  PathParts parts(SimTime begin, SimTime end, ChainEnd last, const std::function<SimTime(std::uint32_t)>& latency) const;

 private:
  static constexpr LinkId first_span = -2;  // and below: spans_[first_span - bottleneck], up to one whose link is first_span
  struct Message {
    std::uint32_t after = none, spent = none, route = 0;
    LinkId bottleneck = 0;
    std::int64_t at_ps = 0, ended_ps = 0;
  };

  void add_links(const Message& message, std::int64_t active_ps, PathParts& out) const;

  PagedList<Message> messages_;
  PagedList<ChainEnd> spent_;
  PagedList<BottleneckSpan> spans_;
  bool full_ = false;
};

}  // namespace weft
