#include "sim/network/critical_path.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

#include <sys/mman.h>

namespace weft {

void* new_page() {
  void* page = std::aligned_alloc(page_of_records, page_of_records);
  if (!page) throw std::bad_alloc();
  ::madvise(page, page_of_records, MADV_HUGEPAGE);  // where it cannot be had, small ones do
  return page;
}

void free_page(void* page) { std::free(page); }

PathParts& PathParts::operator+=(const PathParts& other) {
  latency += other.latency;
  overhead += other.overhead;
  waiting += other.waiting;
  computing += other.computing;
  for (const auto& [link, time] : other.links) links[link] += time;
  for (const auto& [rank, time] : other.reduce_engines) reduce_engines[rank] += time;
  return *this;
}

void PathRecorder::clear() {
  messages_.clear();
  spent_.clear();
  spans_.clear();
  full_ = false;
}

void PathRecorder::add_links(const Message& message, std::int64_t active_ps, PathParts& out) const {
  if (message.ended_ps == active_ps) return;
  if (message.bottleneck > first_span) {
    out.links[message.bottleneck] += SimTime{message.ended_ps - active_ps};
    return;
  }
  for (auto at = static_cast<std::size_t>(first_span - message.bottleneck); spans_[at].link != first_span; ++at) {
    const std::int64_t since = spans_[at + 1].link == first_span ? active_ps : spans_[at + 1].until_ps;
    out.links[spans_[at].link] += SimTime{spans_[at].until_ps - since};
  }
}

PathParts PathRecorder::parts(SimTime begin, SimTime end, ChainEnd last, const std::function<SimTime(std::uint32_t)>& latency) const {
  PathParts out;
  for (std::int64_t until = end.ps;;) {
    const Message* message = last.message == none ? nullptr : &messages_[last.message];
    std::int64_t left = until - (message ? message->ended_ps : begin.ps);
    const auto take = [&](std::int64_t ps) {
      const std::int64_t taken = std::min(left, ps);
      left -= taken;
      return SimTime{taken};
    };
    if (last.reducing_ps > 0) out.reduce_engines[last.rank] += take(last.reducing_ps);
    out.waiting += take(last.waiting_ps);
    out.computing += take(last.computing_ps);
    out.overhead += SimTime{left};
    if (!message) return out;
    const std::int64_t active = message->at_ps + latency(message->route).ps;
    out.latency += SimTime{active - message->at_ps};
    add_links(*message, active, out);
    until = message->at_ps;
    last = message->spent == none ? ChainEnd{} : spent_[message->spent];
    last.message = message->after;
  }
}

}  // namespace weft
