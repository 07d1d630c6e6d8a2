// Runs a schedule on a network model, sizes only: a flat program counter per (channel, rank), no threads, no payload.
// The order of events is that of the blocking executor ("own_step", collectives/schedule/schedule.hpp); the costs are those of
// models/hardware.hpp. Two events a message: it reaches its links, it ends (when the receiver gets it may lie ahead). Several executors may
// share a lane of a network (program_driver.hpp): what is under way there is in one table.
#pragma once

#include "collectives/schedule/step_window.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/prefetch.hpp"
#include "models/fabric/routes.hpp"
#include "sim/executor/channels_together.hpp"
#include "sim/executor/lane_state.hpp"
#include "sim/executor/placed_schedule.hpp"
#include "sim/executor/schedule_costs.hpp"
#include "sim/executor/uncontended.hpp"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weft {

template <class Network>
class EventExecutor {
 public:
  EventExecutor(const PlacedSchedule& job, LaneState<Network>& lane, Seat seat)
      : job_(job), lane_(lane), seat_(std::move(seat)), layout_(layout_of(job.schedule, job.elements)), costs_(job, lane) {
    const auto ranks = static_cast<std::size_t>(job.schedule.ranks);
    channels_.reserve(job.schedule.channels.size());
    for (const Steps& steps : job.schedule.channels) {
      const auto channel = static_cast<std::uint32_t>(channels_.size());
      channels_.emplace_back(steps, job.schedule.ranks,
                             [this, channel](IndexedStep& step, std::span<const Transfer> transfers) { digest(step, transfers, channel); });
    }
    check(channels_.size() <= UINT16_MAX, "{} channels", channels_.size());
    for (std::uint16_t channel = 0; channel < channels_.size(); ++channel)
      for (Rank rank = 0; rank < job.schedule.ranks; ++rank) processes_.push_back({.channel = channel, .rank = rank});
    ends_.resize(ranks);
    running_.assign(ranks, static_cast<int>(job.schedule.channels.size()));
    unfinished_ = processes_.size();
    const Schedule& s = job.schedule;
    if (s.servers > 0 && lane.routes.are_switches(job.placement[static_cast<std::size_t>(s.workers())])) first_switches_ = s.workers();
  }

  // Each rank once. `at` may lie ahead of the network's clock.
  void begin(Rank rank, SimTime at, const ChainEnd& after = {}) {
    if (!seat_.alone) return begin_now(rank, at, after);
    begun_.push_back({rank, at, after});
    if (begun_.size() < running_.size()) return;
    if (!run_uncontended())
      for (const RankDone& begun : begun_) begin_now(begun.rank, begun.at, begun.after);
    begun_.clear();
  }

  bool finished() const { return unfinished_ == 0; }

  // Ranks that are done, since it was last asked.
  std::vector<RankDone>& done() { return done_; }

  // What it has in the table is about to happen, with `before` other things to be asked for first: what that needs, then what goes on
  // behind it, from 3 down to 0.
  void fetch(int before, const UnderWay& m) const {
    const IndexedStep* next = channels_[m.channel].find(m.step + 1);
    for (const Rank rank : {m.from, m.to}) {
      const Process& p = processes_[m.channel * static_cast<std::size_t>(job_.schedule.ranks) + static_cast<std::size_t>(rank)];
      if (before == 3) {
        prefetch_all(p);
        if (next) prefetch(&next->shape->begins[static_cast<std::size_t>(rank)]);
      } else if (p.step == m.step && p.pending == 1) {
        if (before == 2) p.early.fetch(p.step + 1);
        if (next) fetch_next_send(before, *next->shape, rank);
      }
    }
    if (before == 3 && lane_.path) lane_.path->fetch(m.recorded);
  }

  // What it had in the table has happened now.
  void happened(const UnderWay& m) {
    const std::int64_t now = lane_.network.now().ps;
    if (m.kind == UnderWay::Kind::rank_enters) return enter(process(m.channel, m.from), now);
    if (lane_.timeline)
      lane_.timeline->push_back({seat_.first_channel + static_cast<int>(m.channel), m.step, name_of(m.from), name_of(m.to), m.bytes,
                                 SimTime{m.posted}, SimTime{m.started} + costs_.latency_ahead(m.route), SimTime{now}});
    if constexpr (Network::knows_bottlenecks)
      if (lane_.path) {
        if (m.route == lane_.none)
          lane_.path->end(m.recorded, now, -1, std::span<const BottleneckSpan>{});
        else
          lane_.path->end(m.recorded, now, lane_.network.model().last_bottleneck(), lane_.network.model().earlier_bottlenecks());
      }
    if (lane_.uses) for_links_of(m.route, [&](LinkId link) { lane_.uses->end(link, now); });
    const bool in_host = costs_.staged(m.route) && !are_switches(m.to);
    const std::int64_t here = in_host ? copy_engine(lane_.from_host, m.to).copy(now, costs_.staging_ps(m.bytes)) : now;
    const std::int64_t each = each_of(m.bytes, stands_for(m.channel, m.step).steps);
    const Work work = are_switches(m.to) ? Work{} : costs_.work_of(m.bytes, each, costs_.copied(m.route), m.reduces);
    const std::int64_t handed = later(now, m.behind);
    Process& receiver = process(m.channel, m.to);
    if (receiver.inside && receiver.step == m.step) {
      receiver.work += work;
      receiver.copied = std::max(receiver.copied, here);
      transfer_done(receiver, {handed, m.recorded, LastTransfer::received_from(m.from)});
    } else {
      Early& early = receiver.early.at(receiver.step, m.step);
      ++early.messages;
      early.work += work;
      early.copied = std::max(early.copied, here);
      early.last.take({handed, m.recorded, LastTransfer::received_from(m.from)});
    }
    if (!costs_.leaves_at_once(each))
      transfer_done(process(m.channel, m.from), {costs_.is_ring() ? handed : now, m.recorded, LastTransfer::sent_to(m.to)});
  }

  std::int64_t messages() const { return messages_; }

  // Of its steps, how many the first rank has done.
  double share() const {
    double sum = 0;
    for (std::uint32_t channel = 0; channel < channels_.size(); ++channel)
      if (const int steps = channels_[channel].count(); steps > 0)
        sum += static_cast<double>(processes_[channel * static_cast<std::size_t>(job_.schedule.ranks)].step) / steps;
    return channels_.empty() ? 0 : sum / static_cast<double>(channels_.size());
  }

  // Who waits for whom, a line for each: for a run that makes no progress.
  void waiting(std::string& text, std::size_t most) const {
    for (const Process& p : processes_) {
      const IndexedStep* step = p.inside ? channels_[p.channel].find(p.step) : nullptr;
      if (step == nullptr) continue;
      if (text.size() > most) return;
      text +=
          fmt::format("\n  rank {} in step {} (channel {}) waits for {} of its transfers", name_of(p.rank), p.step, p.channel, p.pending);
      const StepShape& shape = *step->shape;
      for (const std::uint32_t i : shape.receives_of(p.rank))
        if (is_outstanding(p, *step, i)) text += fmt::format(", receiving from rank {}", name_of(shape.from(i)));
      for (const std::uint32_t i : shape.sends_of(p.rank))
        if (!costs_.leaves_at_once(each_of(step->load(i).bytes, steps_in(p))) && is_outstanding(p, *step, i))
          text += fmt::format(", sending to rank {}", name_of(shape.to(i)));
    }
  }

 private:
  // Messages that ended before their receiver reached the step.
  struct Early {
    int messages = 0;
    LastTransfer last = {};
    std::int64_t copied = 0;
    Work work = {};
  };
  // A rank's early messages by step, in a ring that holds the steps from the rank's own on.
  class EarlyRing {
   public:
    Early& at(int own_step, int step) {
      while (static_cast<std::size_t>(step - own_step) >= ring_.size()) grow(own_step);
      return ring_[static_cast<std::size_t>(step) & (ring_.size() - 1)];
    }
    void fetch(int own_step) const {
      if (!ring_.empty()) prefetch_all(ring_[static_cast<std::size_t>(own_step) & (ring_.size() - 1)]);
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
  // One rank's place in one channel.
  struct alignas(64) Process {
    std::uint16_t channel = 0;
    bool inside = false;  // it has entered the step; messages that end before are early
    Rank rank = 0;
    int step = 0;
    int pending = 0;         // own sends and receives of the step that have not ended
    LastTransfer last = {};  // of those that have
    std::int64_t entered = 0;
    std::int64_t free_at = 0;  // when the overheads of its sends are over
    std::int64_t copied = 0;   // when what it received has been copied from host memory
    Work work = {};
    ChainEnd after = {};  // what let it enter the step, and what it has done since
    EarlyRing early = {};
  };
  static_assert(sizeof(Process) <= 128);
  static constexpr std::int64_t not_posted = -1;

  Rank name_of(Rank rank) const { return seat_.members.empty() ? rank : seat_.members[static_cast<std::size_t>(rank)]; }

  // Servers of the schedule may be switches, which add at the rate of their links and to which no message costs anything.
  bool are_switches(Rank rank) const { return rank >= first_switches_; }

  std::size_t index_of(std::uint32_t channel, Rank rank) const {
    return channel * static_cast<std::size_t>(job_.schedule.ranks) + static_cast<std::size_t>(rank);
  }
  Process& process(std::uint32_t channel, Rank rank) { return processes_[index_of(channel, rank)]; }

  // Whether transfer i of the step that the process is in has not ended: one of its ends has not come as far, or it is under way.
  bool is_outstanding(const Process& p, const IndexedStep& step, std::uint32_t i) const {
    const Rank from = step.shape->from(i), to = step.shape->to(i);
    const auto is_behind = [&](Rank rank) {
      const Process& other = processes_[index_of(p.channel, rank)];
      return other.step < p.step || (other.step == p.step && !other.inside);
    };
    if (is_behind(from)) return true;
    if (costs_.waits_for_receiver(each_of(step.load(i).bytes, steps_in(p))) && is_behind(to)) return true;
    return std::ranges::any_of(lane_.under_way.entries(), [&](const UnderWay& m) {
      return !m.ended && m.executor == seat_.number && m.kind == UnderWay::Kind::message && m.channel == p.channel && m.step == p.step &&
             m.from == from && m.to == to;
    });
  }

  void begin_now(Rank rank, SimTime at, const ChainEnd& after) {
    for (std::uint32_t channel = 0; channel < channels_.size(); ++channel) {
      Process& p = process(channel, rank);
      p.after = after;
      enter(p, later(at.ps, costs_.call_ps()));
    }
  }

  // Nobody else is on the network, and all ranks have begun. False where events have to tell.
  bool run_uncontended() {
    if constexpr (Network::knows_flows_alone) {
      using Run = UncontendedRun<Network>;
      if (lane_.timeline || are_switches(job_.schedule.ranks - 1) || !lane_.network.model().undisturbed() ||
          !Run::may_describe(job_, costs_.hardware()))
        return false;
      return walk<ChannelsTogether<Network>>() || walk<Run>();
    }
    return false;
  }

  template <class Run>
  bool walk() {
    Run run(job_, lane_, costs_, seat_);
    const bool walked = run.run(begun_, [this](IndexedStep& step, std::span<const Transfer> transfers, std::uint32_t channel) {
      digest(step, transfers, channel);
    });
    if (walked) {
      conclude(run.walked());
    } else if (lane_.path) {
      lane_.path->clear();
    }
    return walked;
  }

  void conclude(const Walked& walked) {
    for (const ChannelsDone& rank : walked.done) done_.push_back(rank.last);
    std::ranges::copy(walked.met, seat_.met.begin());
    for (std::size_t i = 0; i < walked.bytes.size(); ++i) lane_.connections[i].bytes += walked.bytes[i];
    if (lane_.uses) *lane_.uses = walked.uses;
    messages_ += walked.messages;
    unfinished_ = 0;
  }

  std::size_t process_index(const Process& p) const { return static_cast<std::size_t>(&p - processes_.data()); }

  // What the rank sends in that step: its number, then its route, then what is known of that.
  void fetch_next_send(int before, const StepShape& shape, Rank rank) const {
    const std::span<const std::uint32_t> sends = shape.sends_of(rank);
    if (sends.empty()) return;
    if (before == 2) return prefetch(sends.data());
    const std::uint32_t& route = shape.routes[sends.front()];
    if (before == 1) return prefetch(&route);
    if (route == lane_.none) return;
    prefetch(&lane_.connections[route]);
    lane_.network.fetch(route);
  }

  // The rank is in p.step from `now` on, which may lie ahead of the network's clock: nothing that happens before can
  // change it, unless its sends queue up with those of others. Goes through further steps as long as their transfers have
  // ended already.
  void enter(Process& p, std::int64_t now) {
    StepWindow& window = channels_[p.channel];
    for (;; window.leave(p.step), ++p.step) {
      if (p.step == window.count()) return finish(p, now);
      p.inside = costs_.hardware().send_queue == SendQueue::channel || now <= lane_.network.now().ps;
      if (!p.inside) return enter_later(p, now);
      IndexedStep& step = window.at(p.step);
      const StepShape& shape = *step.shape;
      const Early early = p.early.take(p.step);
      p.pending = static_cast<int>(shape.sends_of(p.rank).size() + shape.receives_of(p.rank).size()) - early.messages;
      p.work = early.work;
      p.copied = early.copied;
      p.last = early.last;
      p.entered = p.free_at = now;
      for (const std::uint32_t i : shape.locals_of(p.rank)) costs_.add_local(p.work, step.load(i));
      for (const std::uint32_t i : shape.sends_of(p.rank)) {
        spend_send(p, step, i);
        post(p, step, i);
        if (costs_.leaves_at_once(each_of(step.load(i).bytes, steps_in(p)))) --p.pending;
      }
      if (!step.posted.empty())
        for (const std::uint32_t i : shape.receives_of(p.rank))
          if (step.posted[i] != not_posted) start_rendezvous(process(p.channel, shape.from(i)), p, step, i);
      if (p.pending > 0) return;
      now = do_work(p);
    }
  }

  void enter_later(const Process& p, std::int64_t now) {
    const UnderWay entry{.executor = seat_.number, .channel = p.channel, .from = p.rank, .kind = UnderWay::Kind::rank_enters};
    lane_.network.wake(SimTime{now}, lane_.under_way.add(entry));
  }

  void finish(const Process& p, std::int64_t now) {
    require_in_time(now);
    --unfinished_;
    ChannelsDone& end = ends_[static_cast<std::size_t>(p.rank)];
    end.take({p.rank, SimTime{now}, p.after}, p.channel);
    if (--running_[static_cast<std::size_t>(p.rank)] == 0) done_.push_back(end.last);
  }

  // The last transfer of a step lets its rank go on.
  void transfer_done(Process& p, const LastTransfer& transfer) {
    p.last.take(transfer);
    if (--p.pending > 0) return;
    channels_[p.channel].leave(p.step);
    ++p.step;
    enter(p, do_work(p));
  }

  // When the work of its step is done. What let it enter the step is what it comes from, unless it has waited inside.
  std::int64_t do_work(Process& p) {
    if (p.last.date_ps > p.entered) p.after = {.message = p.last.message};
    p.after.rank = name_of(p.rank);
    p.after.reducing_ps = later(p.after.reducing_ps, p.work.reducing_ps);
    return later(std::max({p.last.date_ps, p.free_at, p.copied}), p.work.ps);
  }

  // The overheads of one send, after those before it in the same queue.
  void spend_send(Process& p, const IndexedStep& step, std::uint32_t i) {
    if (are_switches(p.rank)) return;
    const StepShape& shape = *step.shape;
    std::int64_t* queue = nullptr;
    if (costs_.hardware().send_queue == SendQueue::rank) queue = seat_.sends_free_at[static_cast<std::size_t>(p.rank)];
    if (costs_.hardware().send_queue == SendQueue::nic) queue = queue_of_nic(p, shape.routes[i]);
    if (queue && *queue > p.free_at) {
      p.after.waiting_ps += *queue - p.free_at;
      p.free_at = *queue;
    }
    costs_.add_send(p.free_at, each_of(step.load(i).bytes, steps_in(p)), steps_in(p), costs_.copied(shape.routes[i]));
    if (!seat_.met.empty() && seat_.met[process_index(p)].meet(shape.to(i))) p.free_at = later(p.free_at, costs_.hardware().first_use.ps);
    if (queue) *queue = p.free_at;
  }

  // Of the NIC through which the route leaves the server, or of the rank where it stays inside.
  std::int64_t* queue_of_nic(const Process& p, std::uint32_t connection) {
    if (connection == lane_.none) return seat_.sends_free_at[static_cast<std::size_t>(p.rank)];
    for (const Hop& hop : lane_.routes.hops(lane_.connections[connection].route))
      if (!lane_.routes.fabric().link(hop.link).in_server) return &lane_.nic_free_at[static_cast<std::size_t>(hop.link)];
    return seat_.sends_free_at[static_cast<std::size_t>(p.rank)];
  }

  // The sender is ready with transfer i at its free_at.
  void post(const Process& sender, IndexedStep& step, std::uint32_t i) {
    if (!costs_.waits_for_receiver(each_of(step.load(i).bytes, steps_in(sender))))
      return start(sender, step, i, sender.free_at, sender.free_at);
    if (step.posted.empty()) step.posted.assign(step.shape->ends.size(), not_posted);
    step.posted[i] = sender.free_at;
    const Process& receiver = process(sender.channel, step.shape->to(i));
    if (receiver.step == sender.step && receiver.pending > 0) start_rendezvous(sender, receiver, step, i);
  }

  // Whoever comes last lets the message go.
  void start_rendezvous(const Process& sender, const Process& receiver, const IndexedStep& step, std::uint32_t i) {
    const std::int64_t posted = step.posted[i];
    const bool receiver_is_last = receiver.entered > posted;
    const int steps = steps_in(sender);
    start(receiver_is_last ? receiver : sender, step, i, posted,
          later(receiver_is_last ? receiver.entered : posted, steps * costs_.rendezvous_ps(each_of(step.load(i).bytes, steps))));
  }

  // `last`: the end that lets the message go.
  void start(const Process& last, const IndexedStep& step, std::uint32_t i, std::int64_t posted, std::int64_t at) {
    const StepShape& shape = *step.shape;
    const Load& load = step.load(i);
    const std::uint32_t route = shape.routes[i];
    const auto [steps, in_turn] = stands_for(last.channel, last.step);
    const std::int64_t each = each_of(load.bytes, steps);
    if (steps > 1) {
      SimTime each_time = in_turn ? costs_.once(route, last.channel, each, load.reduces) : costs_.at_receiver(each, load.reduces);
      if (!in_turn && !costs_.leaves_at_once(each)) each_time += costs_.latency_ahead(route);
      at = later(at, (steps - 1) * each_time.ps);
    }
    if (costs_.staged(route) && !are_switches(shape.from(i)))
      at = copy_engine(lane_.to_host, shape.from(i)).copy(at, costs_.staging_ps(load.bytes));
    std::uint32_t recorded = PathRecorder::none;
    if constexpr (Network::knows_bottlenecks)
      if (lane_.path) recorded = lane_.path->begin(last.after, costs_.latency_ahead(route).ps > 0 ? route : lane_.none, at);
    const std::uint32_t token = lane_.under_way.add({.bytes = load.bytes,
                                                     .posted = posted,
                                                     .started = at,
                                                     .behind = costs_.behind_ps(route, last.channel, each),
                                                     .executor = seat_.number,
                                                     .channel = last.channel,
                                                     .step = last.step,
                                                     .from = shape.from(i),
                                                     .to = shape.to(i),
                                                     .route = route,
                                                     .recorded = recorded,
                                                     .reduces = load.reduces});
    messages_ += steps;
    if (route == lane_.none) return lane_.network.wake(SimTime{at}, token);  // within one endpoint
    lane_.connections[route].bytes += costs_.carried(route, load.bytes);
    if (lane_.uses && load.bytes > 0)
      for_links_of(route, [&](LinkId link) { lane_.uses->begin(link, later(at, costs_.latency_ahead(route).ps)); });
    lane_.network.start(route, steps * costs_.wire_bytes(route, each) + load.bytes - steps * each,
                        SimTime{at} - (costs_.latency(route) - costs_.latency_ahead(route)), token);
  }

  // Of those that are told apart (LinkUses).
  template <class Each>
  void for_links_of(std::uint32_t route, const Each& each) const {
    if constexpr (Network::knows_flows_alone) {
      if (route == lane_.none) return;
      const auto& model = lane_.network.model();
      lane_.uses->resize(model.links());
      for (const LinkId link : model.path(lane_.network.number(route))) each(model.of_both_ways(link));
    }
  }

  // Nearly always one: a division would be a tenth of what a message costs.
  static std::int64_t each_of(std::int64_t bytes, int steps) { return steps == 1 ? bytes : bytes / steps; }

  // Of how many steps that of the process is made.
  int steps_in(const Process& p) const { return stands_for(p.channel, p.step).steps; }
  StandsFor stands_for(std::uint32_t channel, int step) const {
    return job_.stands_for.empty() ? StandsFor{} : job_.stands_for[channel][static_cast<std::size_t>(step)];
  }

  CopyEngine& copy_engine(std::vector<CopyEngine>& engines, Rank rank) {
    const auto endpoint = static_cast<std::size_t>(job_.placement[static_cast<std::size_t>(rank)]);
    if (engines.size() <= endpoint) engines.resize(static_cast<std::size_t>(lane_.routes.fabric().endpoints()));
    return engines[endpoint];
  }

  void digest(IndexedStep& step, std::span<const Transfer> transfers, std::uint32_t channel) {
    if (step.shape->routes.size() != transfers.size()) {
      find_routes(*step.shape, channel);
      costs_.find_ring_hop(*step.shape, channel);
    }
    if (transfers.empty()) return;
    const auto load_of = [this](const Transfer& t) { return Load{layout_.size(t.chunk, t.count) * job_.element_bytes, t.reduces}; };
    step.loads.push_back(load_of(transfers.front()));
    const auto other = std::ranges::find_if(transfers, [&](const Transfer& t) { return load_of(t) != step.loads.front(); });
    if (other == transfers.end()) return;
    step.loads.resize(static_cast<std::size_t>(other - transfers.begin()), step.loads.front());
    step.loads.reserve(transfers.size());
    for (const Transfer& t : std::span(other, transfers.end())) step.loads.push_back(load_of(t));
  }

  void find_routes(StepShape& shape, std::uint32_t channel) {
    const auto place = [&](Rank rank) { return job_.placement[static_cast<std::size_t>(rank)]; };
    for (std::uint32_t i = 0; i < shape.ends.size(); ++i) {
      if (const std::uint32_t ahead = i + Routes::fetch_ahead; ahead < shape.ends.size())
        lane_.routes.fetch(place(shape.from(ahead)), place(shape.to(ahead)));
      shape.routes.push_back(
          connection_on(lane_, place(shape.from(i)), place(shape.to(i)), costs_.hardware().stream_rate, {seat_.stream, channel}));
    }
  }

  const PlacedSchedule job_;
  LaneState<Network>& lane_;
  const Seat seat_;
  ChunkLayout layout_;
  ScheduleCosts<Network> costs_;
  std::vector<StepWindow> channels_;
  LargeTable<Process> processes_;   // channel * ranks + rank
  Rank first_switches_ = INT_MAX;   // of the schedule's ranks
  std::vector<int> running_;        // by rank: its channels that have not ended
  std::vector<ChannelsDone> ends_;  // by rank, so far
  std::vector<RankDone> done_;
  std::vector<RankDone> begun_;  // of ranks that wait for the others to begin, where a call is alone
  std::size_t unfinished_ = 0;
  std::int64_t messages_ = 0;
};

}  // namespace weft
