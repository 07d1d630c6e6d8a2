// Runs a schedule on a network model, sizes only: a flat program counter per (channel, rank), no threads, no payload.
// The order of events is that of the blocking executor ("own_step", collectives/schedule/schedule.hpp); the costs are those of
// models/hardware.hpp. Two events a message: it reaches its links, it ends (when the receiver gets it may lie ahead). Several executors may
// share a lane of a network (program_driver.hpp): what is under way there is in one table.
#pragma once

#include "collectives/schedule/step_window.hpp"
#include "kernels/base/error.hpp"
#include "models/fabric/path_class.hpp"
#include "models/fabric/routes.hpp"
#include "models/hardware.hpp"
#include "models/server/host_copies.hpp"
#include "sim/network/network_run.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weft {

// A schedule on ranks placed at endpoints, for a message of `elements` elements.
struct Job {
  const Schedule& schedule;
  std::span<const int> placement;  // rank -> endpoint
  std::int64_t elements = 0;
  std::int64_t element_bytes = 1;
  const HardwareProfile& hardware;
  std::span<const SimTime> start = {};      // when each rank begins; empty: all at 0
  std::span<const HostCopies> copies = {};  // beside the schedule, on the `flow` network only
  Regime regime = {};
};

// What the tokens of one lane stand for: messages, and what waits for a date.
struct UnderWay {
  enum class Kind : std::uint8_t { message, rank_enters, operation_ends };
  std::int64_t bytes = 0, posted = 0, started = 0;
  std::uint32_t executor = 0, channel = 0;
  int step = 0;  // of operation_ends: the operation
  Rank from = 0, to = 0;
  std::uint32_t route = 0;
  Kind kind = Kind::message;
  bool reduces = false, ended = false;
};

class UnderWayTable {
 public:
  std::uint32_t add(const UnderWay& entry) {
    if (free_.empty()) {
      entries_.push_back(entry);
      return static_cast<std::uint32_t>(entries_.size() - 1);
    }
    const std::uint32_t token = free_.back();
    free_.pop_back();
    entries_[token] = entry;
    return token;
  }
  // What `token` stood for; the token is free from now on.
  UnderWay take(std::uint32_t token) {
    entries_[token].ended = true;
    free_.push_back(token);
    return entries_[token];
  }
  bool empty() const { return entries_.size() == free_.size(); }
  std::span<const UnderWay> entries() const { return entries_; }  // those not `ended` are under way

 private:
  std::vector<UnderWay> entries_;
  std::vector<std::uint32_t> free_;
};

// Which peers a rank has sent to over one channel of one stream: the first message connects them.
class PeersMet {
 public:
  // Whether this is the first time.
  bool meet(Rank peer) {
    if (peer == last_) return false;
    last_ = peer;
    const auto at = std::ranges::lower_bound(met_, peer);
    if (at != met_.end() && *at == peer) return false;
    met_.insert(at, peer);
    return true;
  }

 private:
  Rank last_ = -1;
  std::vector<Rank> met_;  // sorted
};

// What executors on one lane share.
template <class Network>
struct LaneState {
  Routes& routes;
  Network& network;  // numbers its routes as `routes` does: nobody else adds any
  std::vector<MessageRecord>* timeline = nullptr;
  std::span<std::int64_t> nic_free_at = {};  // SendQueue::nic: by link, when the overheads of sends over it are over
  UnderWayTable under_way = {};
  std::vector<std::int64_t> bytes_on_route = {};  // by RouteId
  std::vector<PathClass> class_of_route = {};     // by RouteId
};

// The route between two different endpoints, known to the network from now on.
template <class Network>
std::uint32_t route_on(LaneState<Network>& lane, int from, int to) {
  const RouteId id = lane.routes.of(from, to);
  while (lane.network.routes() <= static_cast<std::size_t>(id)) {
    const auto next = static_cast<RouteId>(lane.network.routes());
    lane.network.add_route(lane.routes.hops(next), lane.routes.latency(next), lane.routes.claim(next));
  }
  lane.bytes_on_route.resize(lane.network.routes());
  while (lane.class_of_route.size() < lane.network.routes())
    lane.class_of_route.push_back(class_of(lane.routes.fabric(), lane.routes.hops(static_cast<RouteId>(lane.class_of_route.size()))));
  return static_cast<std::uint32_t>(id);
}

// What an executor is given beside its schedule. Ranks are the schedule's.
struct Seat {
  std::uint32_t number = 0;                       // what its messages in the table say
  std::span<const Rank> members = {};             // what its ranks are called; empty: as they are
  int first_channel = 0;                          // what its channels are called in the timeline, from this on
  std::span<PeersMet> met = {};                   // by channel and rank; empty: connections cost nothing
  std::vector<std::int64_t*> sends_free_at = {};  // by rank, where sends queue up with those of others: when theirs are over
};

// A rank is done with its part of a schedule.
struct RankDone {
  Rank rank = 0;
  SimTime at;  // not before the network's clock
};

template <class Network>
class EventExecutor {
 public:
  EventExecutor(const Job& job, LaneState<Network>& lane, Seat seat)
      : job_(job),
        lane_(lane),
        seat_(std::move(seat)),
        layout_{job.elements, job.schedule.chunks},
        hardware_(job.hardware.in(job.regime)),
        overheads_(hardware_.path_overheads()),
        reduce_rate_(hardware_.reduce_rate_for(Bytes{job.elements * job.element_bytes})),
        copy_rate_(hardware_.copy_rate_for(Bytes{job.elements * job.element_bytes})) {
    const auto ranks = static_cast<std::size_t>(job.schedule.ranks);
    for (const Steps& steps : job.schedule.channels)
      channels_.emplace_back(steps, job.schedule.ranks,
                             [this](IndexedStep& step, std::span<const Transfer> transfers) { digest(step, transfers); });
    for (std::uint32_t channel = 0; channel < channels_.size(); ++channel)
      for (Rank rank = 0; rank < job.schedule.ranks; ++rank) processes_.push_back({.channel = channel, .rank = rank});
    ends_.resize(ranks);
    running_.assign(ranks, static_cast<int>(job.schedule.channels.size()));
    unfinished_ = processes_.size();
    early_.resize(processes_.size());
  }

  // Each rank once. `at` may lie ahead of the network's clock.
  void begin(Rank rank, SimTime at) {
    for (std::uint32_t channel = 0; channel < channels_.size(); ++channel)
      enter(process(channel, rank), later(at.ps, hardware_.call_overhead.ps));
  }

  bool finished() const { return unfinished_ == 0; }

  // Ranks that are done, since it was last asked.
  std::vector<RankDone>& done() { return done_; }

  // What it had in the table has happened now.
  void happened(const UnderWay& m) {
    const std::int64_t now = lane_.network.now().ps;
    if (m.kind == UnderWay::Kind::rank_enters) return enter(process(m.channel, m.from), now);
    if (lane_.timeline)
      lane_.timeline->push_back({seat_.first_channel + static_cast<int>(m.channel), m.step, name_of(m.from), name_of(m.to), m.bytes,
                                 SimTime{m.posted}, SimTime{m.started} + lane_.network.latency(m.route), SimTime{now}});
    const std::int64_t work = later(hardware_.receive_overhead.ps, m.reduces ? reduction_ps(m.bytes) : copy_ps(m.bytes));
    const std::int64_t handed = later(now, overhead_ps(m.route));
    Process& receiver = process(m.channel, m.to);
    if (receiver.inside && receiver.step == m.step) {
      receiver.work = later(receiver.work, work);
      transfer_done(receiver, handed);
    } else {
      Early& early = early_[process_index(receiver)].at(receiver.step, m.step);
      ++early.messages;
      early.work = later(early.work, work);
      early.handed = std::max(early.handed, handed);
    }
    if (!leaves_at_once(m.bytes)) transfer_done(process(m.channel, m.from), now);
  }

  std::int64_t messages() const { return messages_; }

  // Who waits for whom, a line for each: for a run that makes no progress.
  void waiting(std::string& text, std::size_t most) const {
    for (const Process& p : processes_) {
      if (!p.inside || p.step == channels_[p.channel].count()) continue;
      if (text.size() > most) return;
      text +=
          fmt::format("\n  rank {} in step {} (channel {}) waits for {} of its transfers", name_of(p.rank), p.step, p.channel, p.pending);
      for (const UnderWay& m : lane_.under_way.entries())
        if (!m.ended && m.executor == seat_.number && m.kind == UnderWay::Kind::message && m.channel == p.channel && m.step == p.step &&
            (m.from == p.rank || m.to == p.rank))
          text += m.from == p.rank ? fmt::format(", sending to rank {}", name_of(m.to))
                                   : fmt::format(", receiving from rank {}", name_of(m.from));
    }
  }

 private:
  // One rank's place in one channel.
  struct Process {
    std::uint32_t channel = 0;
    Rank rank = 0;
    int step = 0;
    bool inside = false;  // it has entered the step; messages that end before are early
    int pending = 0;      // own sends and receives of the step that have not ended
    std::int64_t entered = 0;
    std::int64_t free_at = 0;  // when the overheads of its sends are over
    std::int64_t handed = 0;   // when the last of its messages is in its hands
    std::int64_t work = 0;     // what it has to do after its transfers: receive overheads, reductions
  };
  // Messages that ended before their receiver reached the step.
  struct Early {
    int messages = 0;
    std::int64_t handed = 0;
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
  static constexpr std::int64_t not_posted = -1;

  Rank name_of(Rank rank) const { return seat_.members.empty() ? rank : seat_.members[static_cast<std::size_t>(rank)]; }

  Process& process(std::uint32_t channel, Rank rank) {
    return processes_[channel * static_cast<std::size_t>(job_.schedule.ranks) + static_cast<std::size_t>(rank)];
  }

  std::size_t process_index(const Process& p) const { return static_cast<std::size_t>(&p - processes_.data()); }

  // NCCL's table gives the latency of a whole hop, of which the path's own is a part.
  std::int64_t overhead_ps(std::uint32_t route) const {
    const std::int64_t overhead = overheads_[static_cast<std::size_t>(lane_.class_of_route[route])].ps;
    if (job_.regime.protocol == NcclProtocol::automatic) return overhead;
    return std::max<std::int64_t>(0, overhead - lane_.network.latency(route).ps);
  }

  // The sender waits for nothing but its own overheads.
  bool leaves_at_once(std::int64_t bytes) const {
    return bytes < std::min(hardware_.eager_threshold, hardware_.rendezvous_threshold).count;
  }

  std::int64_t copy_ps(std::int64_t bytes) const { return copy_rate_.count == 0 ? 0 : (Bytes{bytes} / copy_rate_).ps; }

  std::int64_t reduction_ps(std::int64_t bytes) {
    const HardwareProfile& hw = hardware_;
    if (reduce_rate_.count == 0) return hw.reduce_launch.ps;
    if (bytes != last_reduction_bytes_) last_reduction_bytes_ = bytes, last_reduction_ps_ = (Bytes{bytes} / reduce_rate_).ps;
    return later(hw.reduce_launch.ps, last_reduction_ps_);
  }

  // The rank is in p.step from `now` on, which may lie ahead of the network's clock: nothing that happens before can
  // change it, unless its sends queue up with those of others. Goes through further steps as long as their transfers have
  // ended already.
  void enter(Process& p, std::int64_t now) {
    StepWindow& window = channels_[p.channel];
    for (;; window.leave(p.step), ++p.step) {
      if (p.step == window.count()) return finish(p.rank, now);
      p.inside = hardware_.send_queue == SendQueue::channel || now <= lane_.network.now().ps;
      if (!p.inside) return enter_later(p, now);
      IndexedStep& step = window.at(p.step);
      const StepShape& shape = *step.shape;
      const Early early = early_[process_index(p)].take(p.step);
      p.pending = static_cast<int>(shape.sends_of(p.rank).size() + shape.receives_of(p.rank).size()) - early.messages;
      p.work = early.work;
      p.handed = early.handed;
      p.entered = p.free_at = now;
      for (const std::uint32_t i : shape.locals_of(p.rank))
        if (step.load(i).reduces) p.work = later(p.work, reduction_ps(step.load(i).bytes));
      for (const std::uint32_t i : shape.sends_of(p.rank)) {
        spend_send(p, step, i);
        post(p, step, i);
        if (leaves_at_once(step.load(i).bytes)) --p.pending;
      }
      if (!step.posted.empty())
        for (const std::uint32_t i : shape.receives_of(p.rank))
          if (step.posted[i] != not_posted) start_rendezvous(p, step, i, step.posted[i], now);
      if (p.pending > 0) return;
      now = later(std::max(p.free_at, p.handed), p.work);
    }
  }

  void enter_later(const Process& p, std::int64_t now) {
    const UnderWay entry{.executor = seat_.number, .channel = p.channel, .from = p.rank, .kind = UnderWay::Kind::rank_enters};
    lane_.network.wake(SimTime{now}, lane_.under_way.add(entry));
  }

  void finish(Rank rank, std::int64_t now) {
    require_in_time(now);
    --unfinished_;
    const auto r = static_cast<std::size_t>(rank);
    ends_[r] = std::max(ends_[r], SimTime{now});
    if (--running_[r] == 0) done_.push_back({rank, ends_[r]});
  }

  void transfer_done(Process& p, std::int64_t now) {
    p.handed = std::max(p.handed, now);
    if (--p.pending > 0) return;
    channels_[p.channel].leave(p.step);
    ++p.step;
    enter(p, later(std::max(p.handed, p.free_at), p.work));
  }

  // The overheads of one send, after those before it in the same queue.
  void spend_send(Process& p, const IndexedStep& step, std::uint32_t i) {
    const StepShape& shape = *step.shape;
    std::int64_t* queue = nullptr;
    if (hardware_.send_queue == SendQueue::rank) queue = seat_.sends_free_at[static_cast<std::size_t>(p.rank)];
    if (hardware_.send_queue == SendQueue::nic) queue = queue_of_nic(p, shape.routes[i]);
    if (queue) p.free_at = std::max(p.free_at, *queue);
    p.free_at = later(p.free_at, hardware_.send_overhead.ps);
    if (step.load(i).bytes >= hardware_.inline_threshold.count) p.free_at = later(p.free_at, hardware_.beyond_inline.ps);
    if (!seat_.met.empty() && seat_.met[process_index(p)].meet(shape.to(i))) p.free_at = later(p.free_at, hardware_.first_use.ps);
    if (queue) *queue = p.free_at;
  }

  // Of the NIC through which the route leaves the server, or of the rank where it stays inside.
  std::int64_t* queue_of_nic(const Process& p, std::uint32_t route) {
    for (const Hop& hop : lane_.routes.hops(static_cast<RouteId>(route)))
      if (!lane_.routes.fabric().link(hop.link).in_server) return &lane_.nic_free_at[static_cast<std::size_t>(hop.link)];
    return seat_.sends_free_at[static_cast<std::size_t>(p.rank)];
  }

  // The sender is ready with transfer i at its free_at.
  void post(const Process& sender, IndexedStep& step, std::uint32_t i) {
    if (step.load(i).bytes < hardware_.rendezvous_threshold.count) return start(sender, step, i, sender.free_at, sender.free_at);
    if (step.posted.empty()) step.posted.assign(step.shape->ends.size(), not_posted);
    step.posted[i] = sender.free_at;
    const Process& receiver = process(sender.channel, step.shape->to(i));
    if (receiver.step == sender.step && receiver.pending > 0) start_rendezvous(sender, step, i, sender.free_at, receiver.entered);
  }

  void start_rendezvous(const Process& either_end, const IndexedStep& step, std::uint32_t i, std::int64_t posted,
                        std::int64_t receiver_entered) {
    start(either_end, step, i, posted, later(std::max(posted, receiver_entered), hardware_.rendezvous.ps));
  }

  void start(const Process& either_end, const IndexedStep& step, std::uint32_t i, std::int64_t posted, std::int64_t at) {
    const StepShape& shape = *step.shape;
    const Load& load = step.load(i);
    const std::uint32_t route = shape.routes[i];
    const std::uint32_t token = lane_.under_way.add({.bytes = load.bytes,
                                                     .posted = posted,
                                                     .started = at,
                                                     .executor = seat_.number,
                                                     .channel = either_end.channel,
                                                     .step = either_end.step,
                                                     .from = shape.from(i),
                                                     .to = shape.to(i),
                                                     .route = route,
                                                     .reduces = load.reduces});
    ++messages_;
    lane_.bytes_on_route[route] += load.bytes;
    lane_.network.start(route, hardware_.wire_bytes(load.bytes), SimTime{at}, token);
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
      shape.routes.push_back(
          route_on(lane_, job_.placement[static_cast<std::size_t>(shape.from(i))], job_.placement[static_cast<std::size_t>(shape.to(i))]));
    }
  }

  const Job job_;
  LaneState<Network>& lane_;
  const Seat seat_;
  ChunkLayout layout_;
  const HardwareProfile hardware_;  // in the job's regime
  const std::array<SimTime, path_class_count> overheads_;
  const BitsPerSecond reduce_rate_, copy_rate_;
  std::int64_t last_reduction_bytes_ = -1, last_reduction_ps_ = 0;
  std::deque<StepWindow> channels_;
  std::vector<Process> processes_;  // channel * ranks + rank
  std::vector<EarlyRing> early_;    // by process
  std::vector<int> running_;        // by rank: its channels that have not ended
  std::vector<SimTime> ends_;       // by rank: the last of its channels' ends so far
  std::vector<RankDone> done_;
  std::size_t unfinished_ = 0;
  std::int64_t messages_ = 0;
};

}  // namespace weft
