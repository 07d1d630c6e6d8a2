// Runs a schedule on a network model, sizes only: a flat program counter per (channel, rank), no threads, no payload.
// The order of events is that of the blocking executor ("own_step", collectives/schedule.hpp); the costs are those of
// models/hardware.hpp. Two events a message: it reaches its links, it ends.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "collectives/step_window.hpp"
#include "kernels/error.hpp"
#include "models/hardware.hpp"
#include "models/routes.hpp"
#include "sim/network/network_run.hpp"

namespace weft {

// What is run: `schedule` on ranks placed at endpoints, for a message of `elements` elements.
struct Job {
  const Schedule& schedule;
  std::span<const int> placement;              // rank -> endpoint
  std::int64_t elements = 0;
  std::int64_t element_bytes = 1;
  const HardwareProfile& hardware;
  std::span<const SimTime> start = {};         // when each rank begins; empty: all at 0
};

template <class Network>
class EventExecutor {
 public:
  EventExecutor(const Job& job, Routes& routes, Network& network, std::vector<MessageRecord>* timeline)
      : job_(job), routes_(routes), network_(network), timeline_(timeline), layout_{job.elements, job.schedule.chunks} {
    const auto ranks = static_cast<std::size_t>(job.schedule.ranks);
    for (const Steps& steps : job.schedule.channels) channels_.emplace_back(steps, job.schedule.ranks);
    processes_.resize(channels_.size() * ranks);
    run_.rank_finish.resize(ranks);
    unfinished_ = processes_.size();
    if (job.elements % job.schedule.chunks == 0) whole_chunk_bytes_ = job.elements / job.schedule.chunks * job.element_bytes;
    if (job.hardware.first_use.ps > 0) peers_met_.resize(processes_.size() * ranks);
  }

  void begin() {
    for (std::size_t p = 0; p < processes_.size(); ++p)
      enter(p, job_.start.empty() ? 0 : job_.start[rank_of(p)].ps);
  }

  bool finished() const { return unfinished_ == 0; }

  // A message has ended now.
  void ended(std::uint32_t token) {
    Message& message = messages_[token];
    message.ended = true;
    const Message m = message;
    free_messages_.push_back(token);
    const std::int64_t now = network_.now().ps;
    if (timeline_) record(m, now);
    const Transfer t = channels_[m.channel].at(m.step).transfers()[m.transfer];
    const std::size_t base = m.channel * static_cast<std::size_t>(job_.schedule.ranks);
    transfer_done(base + static_cast<std::size_t>(t.from), now);
    transfer_done(base + static_cast<std::size_t>(t.to), now);
  }

  // Call once, when finished.
  NetworkRun result() {
    for (const SimTime t : run_.rank_finish) run_.finish = std::max(run_.finish, t);
    return std::move(run_);
  }
  std::span<const std::int64_t> bytes_on_route() const { return bytes_on_route_; }

  // Who waits for whom, for a run that makes no progress.
  std::string waiting() const {
    std::string text = "no progress is possible:";
    for (std::size_t i = 0; i < messages_.size() && text.size() < 2000; ++i)
      if (!messages_[i].ended) text += fmt::format("\n  {}", describe(messages_[i]));
    return text;
  }

 private:
  struct Process {
    int step = 0;
    int pending = 0;                           // own sends and receives of the step that have not ended
    std::int64_t entered = 0;
    std::int64_t free_at = 0;                  // when the overheads of its sends are over
  };
  struct Message {
    std::size_t channel;
    int step;
    std::uint32_t transfer;
    std::int64_t posted, active;
    bool ended = false;
  };
  static constexpr std::int64_t not_posted = -1;

  std::size_t rank_of(std::size_t process) const { return process % static_cast<std::size_t>(job_.schedule.ranks); }

  std::int64_t bytes_of(const Transfer& t) const {
    if (whole_chunk_bytes_ >= 0) return whole_chunk_bytes_ * t.count;
    return layout_.size(t.chunk, t.count) * job_.element_bytes;
  }

  std::int64_t reduction_ps(const Transfer& t) {
    if (!t.reduces) return 0;
    const HardwareProfile& hw = job_.hardware;
    if (hw.reduce_rate.count == 0) return hw.reduce_launch.ps;
    const std::int64_t bytes = bytes_of(t);
    if (bytes != last_reduction_bytes_) last_reduction_bytes_ = bytes, last_reduction_ps_ = (Bytes{bytes} / hw.reduce_rate).ps;
    return hw.reduce_launch.ps + last_reduction_ps_;
  }

  void enter(std::size_t process, std::int64_t now) {
    Process& p = processes_[process];
    const std::size_t channel = process / static_cast<std::size_t>(job_.schedule.ranks);
    StepWindow& window = channels_[channel];
    const Rank rank = static_cast<Rank>(rank_of(process));
    for (;; window.leave(p.step), ++p.step) {
      if (p.step == window.count()) {
        --unfinished_;
        SimTime& finish = run_.rank_finish[rank_of(process)];
        finish = std::max(finish, SimTime{now});
        return;
      }
      IndexedStep& step = window.at(p.step);
      if (step.shape->routes.size() != step.transfers().size()) find_routes(step);
      const auto sends = step.shape->sends_of(rank);
      const auto receives = step.shape->receives_of(rank);
      if (sends.empty() && receives.empty()) {
        now += local_work(step, rank);
        continue;
      }
      p.pending = static_cast<int>(sends.size() + receives.size());
      p.entered = p.free_at = now;
      for (const std::uint32_t i : sends) {
        p.free_at += job_.hardware.send_overhead.ps;
        if (!peers_met_.empty()) meet(process, step.transfers()[i].to, p);
        post(channel, p.step, step, i, p.free_at);
      }
      if (job_.hardware.rendezvous_threshold.count == INT64_MAX) return;
      for (const std::uint32_t i : receives)
        if (i < step.notes.size() && step.notes[i] != not_posted) start_rendezvous(channel, p.step, step, i, step.notes[i], now);
      return;
    }
  }

  void meet(std::size_t process, Rank peer, Process& p) {
    auto met = peers_met_[process * static_cast<std::size_t>(job_.schedule.ranks) + static_cast<std::size_t>(peer)];
    if (!met) p.free_at += job_.hardware.first_use.ps;
    met = true;
  }

  void post(std::size_t channel, int k, IndexedStep& step, std::uint32_t i, std::int64_t posted) {
    const Transfer& t = step.transfers()[i];
    const std::int64_t bytes = bytes_of(t);
    if (bytes < job_.hardware.rendezvous_threshold.count) return start(channel, k, step, i, posted, posted, bytes);
    if (step.notes.empty()) step.notes.assign(step.transfers().size(), not_posted);
    step.notes[i] = posted;
    const Process& receiver = processes_[channel * static_cast<std::size_t>(job_.schedule.ranks) + static_cast<std::size_t>(t.to)];
    if (receiver.step == k && receiver.pending > 0) start_rendezvous(channel, k, step, i, posted, receiver.entered);
  }

  void start_rendezvous(std::size_t channel, int k, IndexedStep& step, std::uint32_t i, std::int64_t posted, std::int64_t receiver_entered) {
    const std::int64_t at = std::max(posted, receiver_entered) + job_.hardware.rendezvous.ps;
    start(channel, k, step, i, posted, at, bytes_of(step.transfers()[i]));
  }

  void start(std::size_t channel, int k, IndexedStep& step, std::uint32_t i, std::int64_t posted, std::int64_t at, std::int64_t bytes) {
    std::uint32_t token;
    if (free_messages_.empty()) {
      token = static_cast<std::uint32_t>(messages_.size());
      messages_.emplace_back();
    } else {
      token = free_messages_.back();
      free_messages_.pop_back();
    }
    const std::uint32_t route = step.shape->routes[i];
    messages_[token] = {channel, k, i, posted, timeline_ ? at + network_.latency(route).ps : 0};
    ++run_.messages;
    bytes_on_route_[route] += bytes;
    network_.start(route, bytes, SimTime{at}, token);
  }

  void transfer_done(std::size_t process, std::int64_t now) {
    Process& p = processes_[process];
    if (--p.pending > 0) return;
    const std::size_t channel = process / static_cast<std::size_t>(job_.schedule.ranks);
    StepWindow& window = channels_[channel];
    const IndexedStep& step = window.at(p.step);
    const Rank rank = static_cast<Rank>(rank_of(process));
    std::int64_t next = std::max(now, p.free_at) + local_work(step, rank);
    for (const std::uint32_t i : step.shape->receives_of(rank)) next += job_.hardware.receive_overhead.ps + reduction_ps(step.transfers()[i]);
    window.leave(p.step);
    ++p.step;
    enter(process, next);
  }

  std::int64_t local_work(const IndexedStep& step, Rank rank) {
    std::int64_t ps = 0;
    for (const std::uint32_t i : step.shape->locals_of(rank)) ps += reduction_ps(step.transfers()[i]);
    return ps;
  }

  void find_routes(IndexedStep& step) {
    std::vector<std::uint32_t>& routes = step.shape->routes;
    routes.clear();
    for (const Transfer& t : step.transfers()) {
      if (t.from == t.to) {
        routes.push_back(UINT32_MAX);
        continue;
      }
      const RouteId id = routes_.of(job_.placement[static_cast<std::size_t>(t.from)], job_.placement[static_cast<std::size_t>(t.to)]);
      while (network_.routes() <= static_cast<std::size_t>(id)) {
        const auto next = static_cast<RouteId>(network_.routes());
        network_.add_route(routes_.hops(next), routes_.latency(next));
        bytes_on_route_.push_back(0);
      }
      routes.push_back(static_cast<std::uint32_t>(id));
    }
  }

  void record(const Message& m, std::int64_t now) {
    const Transfer t = channels_[m.channel].at(m.step).transfers()[m.transfer];
    timeline_->push_back({static_cast<int>(m.channel), m.step, t.from, t.to, bytes_of(t), SimTime{m.posted}, SimTime{m.active}, SimTime{now}});
  }

  std::string describe(const Message& m) const {
    return fmt::format("channel {} step {}: a message posted at {} us has not arrived", m.channel, m.step, SimTime{m.posted}.microseconds());
  }

  const Job job_;
  Routes& routes_;
  Network& network_;
  std::vector<MessageRecord>* timeline_;
  ChunkLayout layout_;
  std::int64_t whole_chunk_bytes_ = -1;        // of every chunk, when they are all equal
  std::int64_t last_reduction_bytes_ = -1, last_reduction_ps_ = 0;
  std::deque<StepWindow> channels_;
  std::vector<Process> processes_;             // channel * ranks + rank
  std::vector<bool> peers_met_;
  std::vector<Message> messages_;
  std::vector<std::uint32_t> free_messages_;
  std::vector<std::int64_t> bytes_on_route_;
  std::size_t unfinished_ = 0;
  NetworkRun run_;
};

}  // namespace weft
