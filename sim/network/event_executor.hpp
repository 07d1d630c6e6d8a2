// Runs a schedule on a network model, sizes only: a flat program counter per (channel, rank), no threads, no payload.
// The order of events is that of the blocking executor ("own_step", collectives/schedule.hpp); the costs are those of
// models/hardware.hpp. Two events a message: it reaches its links, it ends.
#pragma once

#include "collectives/step_window.hpp"
#include "kernels/error.hpp"
#include "models/hardware.hpp"
#include "models/routes.hpp"
#include "models/server/host_copies.hpp"
#include "sim/network/network_run.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weft {

// What is run: `schedule` on ranks placed at endpoints, for a message of `elements` elements.
struct Job {
  const Schedule& schedule;
  std::span<const int> placement;  // rank -> endpoint
  std::int64_t elements = 0;
  std::int64_t element_bytes = 1;
  const HardwareProfile& hardware;
  std::span<const SimTime> start = {};      // when each rank begins; empty: all at 0
  std::span<const HostCopies> copies = {};  // beside the schedule, on the `flow` network only
  // Called as a rank is done with all steps before this one; returns what it computes before it goes on. For replays.
  std::function<SimTime(int channel, int step, Rank rank, SimTime now)> before_step = {};
};

// `network` numbers its routes as `routes` does: nobody else adds any (a Lane, shared_network.hpp).
template <class Network>
class EventExecutor {
 public:
  EventExecutor(const Job& job, Routes& routes, Network& network, std::vector<MessageRecord>* timeline)
      : job_(job),
        routes_(routes),
        network_(network),
        timeline_(timeline),
        layout_{job.elements, job.schedule.chunks},
        reduce_rate_(job.hardware.reduce_rate_for(Bytes{job.elements * job.element_bytes})) {
    const auto ranks = static_cast<std::size_t>(job.schedule.ranks);
    for (const Steps& steps : job.schedule.channels)
      channels_.emplace_back(steps, job.schedule.ranks,
                             [this](IndexedStep& step, std::span<const Transfer> transfers) { digest(step, transfers); });
    for (std::uint32_t channel = 0; channel < channels_.size(); ++channel)
      for (Rank rank = 0; rank < job.schedule.ranks; ++rank) processes_.push_back({.channel = channel, .rank = rank});
    run_.rank_finish.resize(ranks);
    unfinished_ = processes_.size();
    early_.resize(processes_.size());
    if (job.hardware.first_use.ps > 0) peers_met_.resize(processes_.size() * ranks);
  }

  void begin() {
    for (Process& p : processes_) enter(p, job_.start.empty() ? 0 : job_.start[static_cast<std::size_t>(p.rank)].ps);
  }

  bool finished() const { return unfinished_ == 0; }
  // No message is under way that could change anything.
  bool stuck() const { return !finished() && messages_.size() == free_messages_.size(); }

  // A message has ended now.
  void ended(std::uint32_t token) {
    messages_[token].ended = true;
    const Message m = messages_[token];
    free_messages_.push_back(token);
    const std::int64_t now = network_.now().ps;
    if (timeline_)
      timeline_->push_back({static_cast<int>(m.channel), m.step, m.from, m.to, m.bytes, SimTime{m.posted},
                            SimTime{m.started} + network_.latency(m.route), SimTime{now}});
    const std::int64_t work = later(job_.hardware.receive_overhead.ps, m.reduces ? reduction_ps(m.bytes) : 0);
    Process& receiver = process(m.channel, m.to);
    if (receiver.step == m.step) {
      receiver.work = later(receiver.work, work);
      transfer_done(receiver, now);
    } else {
      Early& early = early_[process_index(receiver)].at(receiver.step, m.step);
      ++early.messages;
      early.work = later(early.work, work);
    }
    transfer_done(process(m.channel, m.from), now);
  }

  // Call once, when finished.
  NetworkRun result() {
    for (const SimTime t : run_.rank_finish) run_.finish = std::max(run_.finish, t);
    return std::move(run_);
  }
  std::span<const std::int64_t> bytes_on_route() const { return bytes_on_route_; }  // by RouteId

  // Who waits for whom, for a run that makes no progress.
  std::string waiting() const {
    std::string text = "no progress is possible:";
    for (const Process& p : processes_) {
      if (p.step == channels_[p.channel].count()) continue;
      if (text.size() > 4000) return text + "\n  ...";
      text += fmt::format("\n  rank {} in step {} (channel {}) waits for {} of its transfers", p.rank, p.step, p.channel, p.pending);
      for (const Message& m : messages_)
        if (!m.ended && m.channel == p.channel && m.step == p.step && (m.from == p.rank || m.to == p.rank))
          text += m.from == p.rank ? fmt::format(", sending to rank {}", m.to) : fmt::format(", receiving from rank {}", m.from);
    }
    return text;
  }

 private:
  // One rank's place in one channel.
  struct Process {
    std::uint32_t channel = 0;
    Rank rank = 0;
    int step = 0;
    int pending = 0;  // own sends and receives of the step that have not ended
    std::int64_t entered = 0;
    std::int64_t free_at = 0;  // when the overheads of its sends are over
    std::int64_t work = 0;     // what it has to do after its transfers: receive overheads, reductions
  };
  // Messages that ended before their receiver reached the step.
  struct Early {
    int messages = 0;
    std::int64_t work = 0;
  };
  // A rank's early messages by step, in a ring that holds the steps from the rank's own on.
  class EarlyRing {
   public:
    Early& at(int own_step, int step) {
      while (static_cast<std::size_t>(step - own_step) >= ring_.size()) grow(own_step);
      return ring_[static_cast<std::size_t>(step) & (ring_.size() - 1)];
    }
    Early take(int own_step) {
      return ring_.empty() ? Early{} : std::exchange(ring_[static_cast<std::size_t>(own_step) & (ring_.size() - 1)], {});
    }

   private:
    void grow(int own_step) {
      std::vector<Early> wider(std::max<std::size_t>(4, 2 * ring_.size()));
      for (std::size_t i = 0; i < ring_.size(); ++i) {
        const std::size_t step = static_cast<std::size_t>(own_step) + i;
        wider[step & (wider.size() - 1)] = ring_[step & (ring_.size() - 1)];
      }
      ring_ = std::move(wider);
    }
    std::vector<Early> ring_;
  };
  struct Message {
    std::int64_t bytes, posted, started;
    std::uint32_t channel;
    int step;
    Rank from, to;
    std::uint32_t route;
    bool reduces, ended;
  };
  static constexpr std::int64_t not_posted = -1;

  Process& process(std::uint32_t channel, Rank rank) {
    return processes_[channel * static_cast<std::size_t>(job_.schedule.ranks) + static_cast<std::size_t>(rank)];
  }

  std::size_t process_index(const Process& p) const { return static_cast<std::size_t>(&p - processes_.data()); }

  std::int64_t reduction_ps(std::int64_t bytes) {
    const HardwareProfile& hw = job_.hardware;
    if (reduce_rate_.count == 0) return hw.reduce_launch.ps;
    if (bytes != last_reduction_bytes_) last_reduction_bytes_ = bytes, last_reduction_ps_ = (Bytes{bytes} / reduce_rate_).ps;
    return later(hw.reduce_launch.ps, last_reduction_ps_);
  }

  // The rank is in p.step from `now` on, which may lie ahead of the network's clock: nothing that happens before can
  // change it. Goes through further steps as long as their transfers have ended already.
  void enter(Process& p, std::int64_t now) {
    StepWindow& window = channels_[p.channel];
    const auto rank = static_cast<std::size_t>(p.rank);
    for (;; window.leave(p.step), ++p.step) {
      if (p.step == window.count()) {
        require_in_time(now);
        --unfinished_;
        run_.rank_finish[rank] = std::max(run_.rank_finish[rank], SimTime{now});
        return;
      }
      if (job_.before_step) now = later(now, job_.before_step(static_cast<int>(p.channel), p.step, p.rank, SimTime{now}).ps);
      IndexedStep& step = window.at(p.step);
      const StepShape& shape = *step.shape;
      const Early early = early_[process_index(p)].take(p.step);
      p.pending = static_cast<int>(shape.sends_of(p.rank).size() + shape.receives_of(p.rank).size()) - early.messages;
      p.work = early.work;
      p.entered = p.free_at = now;
      for (const std::uint32_t i : shape.locals_of(p.rank))
        if (step.load(i).reduces) p.work = later(p.work, reduction_ps(step.load(i).bytes));
      for (const std::uint32_t i : shape.sends_of(p.rank)) {
        p.free_at = later(p.free_at, job_.hardware.send_overhead.ps);
        if (!peers_met_.empty()) meet(p, shape.to(i));
        post(p, step, i);
      }
      if (!step.posted.empty())
        for (const std::uint32_t i : shape.receives_of(p.rank))
          if (step.posted[i] != not_posted) start_rendezvous(p, step, i, step.posted[i], now);
      if (p.pending > 0) return;
      now = later(p.free_at, p.work);
    }
  }

  void transfer_done(Process& p, std::int64_t now) {
    if (--p.pending > 0) return;
    channels_[p.channel].leave(p.step);
    ++p.step;
    enter(p, later(std::max(now, p.free_at), p.work));
  }

  void meet(Process& p, Rank peer) {
    auto met = peers_met_[process_index(p) * static_cast<std::size_t>(job_.schedule.ranks) + static_cast<std::size_t>(peer)];
    if (!met) p.free_at = later(p.free_at, job_.hardware.first_use.ps);
    met = true;
  }

  // The sender is ready with transfer i at its free_at.
  void post(const Process& sender, IndexedStep& step, std::uint32_t i) {
    if (step.load(i).bytes < job_.hardware.rendezvous_threshold.count) return start(sender, step, i, sender.free_at, sender.free_at);
    if (step.posted.empty()) step.posted.assign(step.shape->ends.size(), not_posted);
    step.posted[i] = sender.free_at;
    const Process& receiver = process(sender.channel, step.shape->to(i));
    if (receiver.step == sender.step && receiver.pending > 0) start_rendezvous(sender, step, i, sender.free_at, receiver.entered);
  }

  void start_rendezvous(const Process& either_end, const IndexedStep& step, std::uint32_t i, std::int64_t posted,
                        std::int64_t receiver_entered) {
    start(either_end, step, i, posted, later(std::max(posted, receiver_entered), job_.hardware.rendezvous.ps));
  }

  void start(const Process& either_end, const IndexedStep& step, std::uint32_t i, std::int64_t posted, std::int64_t at) {
    std::uint32_t token;
    if (free_messages_.empty()) {
      token = static_cast<std::uint32_t>(messages_.size());
      messages_.emplace_back();
    } else {
      token = free_messages_.back();
      free_messages_.pop_back();
    }
    const StepShape& shape = *step.shape;
    const Load& load = step.load(i);
    const std::uint32_t route = shape.routes[i];
    messages_[token] = {load.bytes,    posted,      at,    either_end.channel, either_end.step,
                        shape.from(i), shape.to(i), route, load.reduces,       false};
    ++run_.messages;
    bytes_on_route_[route] += load.bytes;
    network_.start(route, job_.hardware.wire_bytes(load.bytes), SimTime{at}, token);
  }

  void digest(IndexedStep& step, std::span<const Transfer> transfers) {
    if (step.shape->routes.size() != transfers.size()) find_routes(*step.shape);
    for (const Transfer& t : transfers) step.loads.push_back({layout_.size(t.chunk, t.count) * job_.element_bytes, t.reduces});
    if (std::ranges::adjacent_find(step.loads, std::not_equal_to{}) == step.loads.end() && !step.loads.empty()) {
      step.loads.resize(1);
      step.loads.shrink_to_fit();
    }
  }

  void find_routes(StepShape& shape) {
    for (std::uint32_t i = 0; i < shape.ends.size(); ++i) {
      if (shape.from(i) == shape.to(i)) {
        shape.routes.push_back(UINT32_MAX);
        continue;
      }
      const RouteId id =
          routes_.of(job_.placement[static_cast<std::size_t>(shape.from(i))], job_.placement[static_cast<std::size_t>(shape.to(i))]);
      while (network_.routes() <= static_cast<std::size_t>(id)) {
        const auto next = static_cast<RouteId>(network_.routes());
        network_.add_route(routes_.hops(next), routes_.latency(next), routes_.claim(next));
      }
      bytes_on_route_.resize(network_.routes());
      shape.routes.push_back(static_cast<std::uint32_t>(id));
    }
  }

  const Job job_;
  Routes& routes_;
  Network& network_;
  std::vector<MessageRecord>* timeline_;
  ChunkLayout layout_;
  const BitsPerSecond reduce_rate_;
  std::int64_t last_reduction_bytes_ = -1, last_reduction_ps_ = 0;
  std::deque<StepWindow> channels_;
  std::vector<Process> processes_;  // channel * ranks + rank
  std::vector<EarlyRing> early_;    // by process
  std::vector<bool> peers_met_;     // by process and peer
  std::vector<Message> messages_;
  std::vector<std::uint32_t> free_messages_;
  std::vector<std::int64_t> bytes_on_route_;
  std::size_t unfinished_ = 0;
  NetworkRun run_;
};

}  // namespace weft
