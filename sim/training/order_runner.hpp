// The orders of a training job's engines: each is a run of a schedule in an executor of its own, phase by phase where it is compressed; a
// push to a parameter server and a pull from it; or a round of an in-network job.
#pragma once

#include "collectives/schedule/merge_steps.hpp"
#include "sim/training/calls_apart.hpp"
#include "sim/training/placed_training.hpp"
#include "sim/training/round_sequence.hpp"
#include "sim/training/training_rank.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft {

// The ranks, to whoever runs their orders.
class OrderedRanks {
 public:
  virtual ~OrderedRanks() = default;
  virtual void joined_by_all() = 0;  // an order
  virtual void order_ended(Rank rank, int id, int stream) = 0;
  virtual SimTime run_kernel(Rank rank, SimTime duration) = 0;  // of a compression; returns when it is over
  virtual void merges_for(Rank rank, SimTime duration) = 0;     // while it receives
};

template <class Network>
class OrderRunner {
 public:
  // All must outlive this.
  OrderRunner(const PlacedTraining& job, LaneState<Network>& lane, Agenda<Network>& agenda, OrderedRanks& owner)
      : job_(job),
        lane_(lane),
        agenda_(agenda),
        owner_(owner),
        ranks_(static_cast<std::size_t>(job.schedule.workers())),
        sends_free_at_(static_cast<std::size_t>(job.schedule.ranks) + job.servers.size()),
        rounds_(job.schedule.workers()) {
    waits_for_sends_ = job.hardware.rendezvous_threshold == HardwareProfile{}.rendezvous_threshold;
    if (job.push_pull) first_sends_ = first_sends(*job.push_pull);
    for (const PlacedServer& server : job.servers) {
      std::vector<int>& places = placements_.emplace_back(job.placement.begin(), job.placement.begin() + job.schedule.workers());
      places.push_back(server.endpoint);
      std::vector<Rank>& names = names_.emplace_back();
      for (Rank r = 0; r < job.schedule.workers(); ++r) names.push_back(job.name_of(r));
      names.push_back(server.name);
    }
  }

  // Where orders are run apart.
  void run_in(CallsApart& calls) { apart_ = &calls; }
  // Where orders are rounds: of this one of its jobs.
  void reduce_in(OpenJobs& network, std::size_t number) { in_network_ = &network, in_network_job_ = number; }

  void begin(Rank rank, int stream, const QueuedOrder& order) {
    if (!running_.contains(order.id)) open(order, stream);
    if (stream < 0 && (!waits_for_sends_ || first_sends_[static_cast<std::size_t>(rank)].messages == 0))
      agenda_.at_once(StepEvent::push_ends, {.step = order.id, .from = rank});
    if (++running_.at(order.id).joined == ranks_) owner_.joined_by_all();
    if (!in_network_) return next_phase(rank, order.id);
    for (const int id : rounds_.join(rank, order.id))
      agenda_.at_date(now() + job_.hardware.send_overhead, StepEvent::round_begins, {.step = id, .from = rank});
  }

  // What the agenda says.
  void phase_ended(Rank rank, int id) {
    ++running_.at(id).next[static_cast<std::size_t>(rank)];
    next_phase(rank, id);
  }
  void begin_round(Rank rank, int id) {
    ++rounds_under_way_;
    in_network_->begin_round(in_network_job_, rank, running_.at(id).elements);
  }
  // The sum is in the rank's hands after its receive overhead.
  void round_ended(Rank rank) {
    --rounds_under_way_;
    agenda_.at_date(now() + job_.hardware.receive_overhead, StepEvent::round_ends, {.step = rounds_.end_next(rank), .from = rank});
  }
  void finish(Rank rank, int id) {
    RunningOrder& running = running_.at(id);
    const int stream = running.stream;
    if (--running.ranks_left == 0) running_.erase(id);
    owner_.order_ended(rank, id, stream);
  }

  // A message of its executors, or a rank that enters a step of one.
  void happened(const UnderWay& what) {
    const Opened& opened = opened_[what.executor];
    if (opened.server >= 0 && what.kind == UnderWay::Kind::message && waits_for_sends_ && static_cast<std::size_t>(what.from) < ranks_ &&
        what.step == first_sends_[static_cast<std::size_t>(what.from)].step)
      has_sent(opened.order, what.from);
    executors_[what.executor]->happened(what);
    orders_done(what.executor);
  }
  // Between two calls.
  void tidy() { finished_.clear(); }

  // Rounds that cannot end, where nothing else is under way.
  bool waits_for_rounds() const { return rounds_under_way_ > 0 && !in_network_->stuck(); }
  void waiting(std::string& text, std::size_t most) const {
    for (const auto& executor : executors_)
      if (executor && text.size() < most) executor->waiting(text, most);
  }
  std::int64_t messages() const { return messages_ + sent_apart_.messages; }
  const SentApart& sent_apart() const { return sent_apart_; }
  // Messages of a rank, control messages included, where they queue up.
  std::int64_t& sends_free_at(Rank rank) { return sends_free_at_[static_cast<std::size_t>(rank)]; }

 private:
  using Executor = EventExecutor<Network>;
  struct RunningOrder {
    int stream = 0;  // not negative, or of the parameter server: -1 - server
    std::int64_t elements = 0;
    const SizedSchedule* sized = nullptr;  // what it runs, where that depends on its size
    std::size_t joined = 0;
    std::vector<CompressedPhase> phases = {};                  // of an all-reduce that is not compressed one, the schedule's
    std::vector<std::optional<std::uint32_t>> executors = {};  // by phase: of exchanges that have begun and not ended
    std::vector<std::size_t> next = {};                        // by rank: the phase it is in
    std::vector<SimTime> begun = {};                           // by rank, where orders are run apart
    std::vector<int> to_send = {};                             // of a push, by rank: of its first sends, those that have not ended
    std::size_t ranks_left = 0;

    int server() const { return stream < 0 ? -1 - stream : -1; }
  };
  struct FirstSends {  // of a rank in a push
    int step = 0, messages = 0;
  };
  struct Opened {  // by an executor
    int order = 0;
    std::size_t phase = 0;
    int server = -1;
    HardwareProfile hardware = {};  // where the exchange merges
  };

  SimTime now() const { return lane_.network.now(); }

  void open(const QueuedOrder& order, int stream) {
    check(order.size.count % job_.element_bytes == 0, "an order of {} has elements of {} bytes", to_string(order.size), job_.element_bytes);
    RunningOrder& running = running_[order.id];
    running.stream = stream;
    running.elements = order.size.count / job_.element_bytes;
    running.ranks_left = ranks_;
    if (in_network_) return;
    if (stream >= 0) running.sized = sized_for(order.size);
    running.phases = phases_of(running, stream < 0);
    running.executors.resize(running.phases.size());
    running.next.resize(ranks_);
    if (stream < 0)
      for (Rank r = 0; static_cast<std::size_t>(r) < ranks_; ++r)
        running.to_send.push_back(first_sends_[static_cast<std::size_t>(r)].messages);
  }

  static std::vector<FirstSends> first_sends(const Schedule& schedule) {
    std::vector<FirstSends> out(static_cast<std::size_t>(schedule.ranks));
    Step step;
    for (int k = 0; k < schedule.steps(); ++k) {
      schedule.channels.front().produce(k, step);
      for (const Transfer& t : step.transfers()) {
        FirstSends& first = out[static_cast<std::size_t>(t.from)];
        if (first.messages == 0) first.step = k;
        if (first.step == k) ++first.messages;
      }
    }
    return out;
  }

  // A partition has left a rank when all that it sends of it first has: to its parameter server, or to the other GPUs of its
  // machine, which need not have come to it. Where receivers are waited for it counts as gone at once: ranks that have chosen different
  // partitions would wait for each other for ever.
  void has_sent(int id, Rank rank) {
    std::vector<int>& left = running_.at(id).to_send;
    if (--left[static_cast<std::size_t>(rank)] == 0) agenda_.at_once(StepEvent::push_ends, {.step = id, .from = rank});
  }

  const SizedSchedule* sized_for(Bytes size) {
    if (!job_.for_size || job_.compression) return nullptr;
    const auto [at, is_new] = sized_.try_emplace(size.count);
    if (is_new) at->second = job_.for_size(size);
    return &at->second;
  }

  std::vector<CompressedPhase> phases_of(const RunningOrder& running, bool pushed) {
    const std::int64_t elements = running.elements;
    if (job_.compression && elements > 0) {
      std::vector<CompressedPhase>& known = phases_[elements];
      if (known.empty()) known = job_.compression->phases(elements);
      return known;
    }
    const Schedule* whole = pushed ? job_.push_pull : running.sized ? running.sized->schedule.get() : &job_.schedule;
    return {{.schedule = {std::shared_ptr<const Schedule>{}, whole},
             .elements = job_.whole_chunks ? (elements + whole->chunks - 1) / whole->chunks * whole->chunks : elements,
             .element_bytes = job_.element_bytes,
             .regime = running.sized ? running.sized->regime : Regime{}}};
  }

  // Begins what the rank does next for the order; at the end of all its phases its part of the order is done.
  void next_phase(Rank rank, int id) {
    RunningOrder& running = running_.at(id);
    std::size_t& at = running.next[static_cast<std::size_t>(rank)];
    while (at < running.phases.size() && running.phases[at].root_only && rank != 0) ++at;
    if (at == running.phases.size()) return finish(rank, id);
    const CompressedPhase& phase = running.phases[at];
    if (!phase.is_exchange())
      return agenda_.at_date(owner_.run_kernel(rank, phase.duration), StepEvent::phase_ends, {.step = id, .from = rank});
    if (apart_) return begin_apart(rank, running, id);
    if (!running.executors[at]) running.executors[at] = open(running, id, at);
    if (phase.reduction) owner_.merges_for(rank, phase.merges[static_cast<std::size_t>(rank)] * *phase.reduction);
    const std::uint32_t executor = *running.executors[at];
    executors_[executor]->begin(rank, now());
    orders_done(executor);
  }

  // When all ranks have begun it is known when they are done: all of what an all-reduce gives a rank comes from all of them.
  void begin_apart(Rank rank, RunningOrder& running, int id) {
    const CompressedPhase& phase = running.phases.front();
    const Schedule& schedule = *phase.schedule;
    if (running.begun.empty()) running.begun.assign(static_cast<std::size_t>(schedule.ranks), now());
    running.begun[static_cast<std::size_t>(rank)] = now();
    if (running.joined < ranks_) return;
    const std::vector<SimTime> done = apart_->run({.schedule = schedule,
                                                   .placement = job_.placement,
                                                   .elements = phase.elements,
                                                   .element_bytes = phase.element_bytes,
                                                   .hardware = job_.hardware,
                                                   .start = running.begun,
                                                   .regime = phase.regime},
                                                  sent_apart_);
    for (Rank each = 0; static_cast<std::size_t>(each) < ranks_; ++each) {
      if (done[static_cast<std::size_t>(each)] < now()) throw CallsMeet{};
      agenda_.at_date(done[static_cast<std::size_t>(each)], StepEvent::phase_ends, {.step = id, .from = each});
    }
  }

  // Servers of the schedule take part from the first rank's start on.
  std::uint32_t open(const RunningOrder& running, int id, std::size_t at) {
    const CompressedPhase& phase = running.phases[at];
    const Schedule& schedule = *phase.schedule;
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(executors_.size()));
      executors_.emplace_back();
      opened_.emplace_back();
    }
    const std::uint32_t number = free_.back();
    free_.pop_back();
    const int server = running.server();
    Opened& opened = opened_[number];
    opened = {.order = id, .phase = at, .server = server};
    if (phase.reduction) {
      opened.hardware = job_.hardware;
      opened.hardware.reduce_launch = *phase.reduction;
      opened.hardware.reduce_rate = {};
    }
    executors_[number] = std::make_unique<Executor>(
        PlacedSchedule{.schedule = schedule,
                       .placement = server < 0 ? job_.placement : std::span<const int>(placements_[static_cast<std::size_t>(server)]),
                       .elements = phase.elements,
                       .element_bytes = phase.element_bytes,
                       .hardware = phase.reduction ? opened.hardware : job_.hardware,
                       .regime = phase.regime,
                       .stands_for = stands_for(schedule, running)},
        lane_, seat_of(schedule, running, number));
    for (Rank of_schedule = schedule.workers(); of_schedule < schedule.ranks; ++of_schedule) executors_[number]->begin(of_schedule, now());
    return number;
  }

  std::span<const std::vector<StandsFor>> stands_for(const Schedule& schedule, const RunningOrder& running) const {
    if (&schedule == &job_.schedule) return job_.stands_for;
    if (running.sized && &schedule == running.sized->schedule.get()) return running.sized->stands_for;
    return {};
  }

  // A worker has one connection to a parameter server, whatever it pushes.
  Seat seat_of(const Schedule& schedule, const RunningOrder& running, std::uint32_t number) {
    const int server = running.server(), stream = running.stream;
    Seat seat{.number = number,
              .members = server < 0 ? job_.members : std::span<const Rank>(names_[static_cast<std::size_t>(server)]),
              .stream = server < 0 ? stream : 0,
              .first_channel = server < 0 ? stream * static_cast<int>(schedule.channels.size()) : 0};
    if (job_.hardware.first_use.ps > 0) {
      std::vector<PeersMet>& met = met_[{stream, schedule.channels.size()}];
      met.resize(schedule.channels.size() * static_cast<std::size_t>(schedule.ranks));
      seat.met = met;
    }
    if (job_.hardware.send_queue != SendQueue::channel)
      for (Rank r = 0; r < schedule.ranks; ++r)
        seat.sends_free_at.push_back(
            &sends_free_at_[static_cast<std::size_t>(r) + (r < schedule.workers() || server < 0 ? 0 : static_cast<std::size_t>(server))]);
    return seat;
  }

  // Ranks that have done their part of the executor's exchange.
  void orders_done(std::uint32_t number) {
    Executor& executor = *executors_[number];
    const auto [id, phase] = std::pair(opened_[number].order, opened_[number].phase);
    if (const auto running = running_.find(id); executor.finished() && running != running_.end()) running->second.executors[phase].reset();
    for (const RankDone& done : std::exchange(executor.done(), {}))
      if (static_cast<std::size_t>(done.rank) < ranks_) agenda_.at_date(done.at, StepEvent::phase_ends, {.step = id, .from = done.rank});
    if (!executor.finished()) return;
    messages_ += executor.messages();
    finished_.push_back(std::move(executors_[number]));  // it may be the one that is being asked
    free_.push_back(number);
  }

  const PlacedTraining& job_;
  LaneState<Network>& lane_;
  Agenda<Network>& agenda_;
  OrderedRanks& owner_;
  const std::size_t ranks_;
  std::vector<std::int64_t> sends_free_at_;                           // for SendQueue::rank and ::nic
  bool waits_for_sends_ = true;                                       // before a push counts as gone
  std::deque<std::vector<int>> placements_;                           // of the workers and each parameter server
  std::deque<std::vector<Rank>> names_;                               // and what these are called
  std::vector<FirstSends> first_sends_;                               // of a push, by rank
  std::map<std::pair<int, std::size_t>, std::vector<PeersMet>> met_;  // by stream and channels
  std::map<std::int64_t, std::vector<CompressedPhase>> phases_;       // by elements
  std::map<std::int64_t, SizedSchedule> sized_;                       // by bytes
  std::map<int, RunningOrder> running_;                               // by id
  std::vector<std::unique_ptr<Executor>> executors_, finished_;
  std::deque<Opened> opened_;  // by executor
  std::vector<std::uint32_t> free_;
  std::int64_t messages_ = 0;
  CallsApart* apart_ = nullptr;
  SentApart sent_apart_;
  OpenJobs* in_network_ = nullptr;
  std::size_t in_network_job_ = 0;
  RoundSequence rounds_;
  std::int64_t rounds_under_way_ = 0;
};

}  // namespace weft
