// A training job on a shared network. In each step a rank computes forward, then backward layer by layer, while a gradient engine
// (collectives/engines/engine.hpp) decides when which gradients are reduced; when all are, the rank calls the optimizer and goes
// on with its next step, without waiting for the others. Every order of the engines is a run of the schedule in an executor of its
// own; control messages cross the same network.
#pragma once

#include "collectives/engines/engines.hpp"
#include "models/compressed_allreduce.hpp"
#include "sim/network/event_executor.hpp"
#include "sim/network/shared_network.hpp"
#include "sim/training/training_step.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weft {

// A training job on ranks placed at endpoints.
struct PlacedTraining {
  const TrainingStep& step;
  const EngineSettings& engine;
  const Schedule& schedule;                          // of each all-reduce
  const CompressedAllreduce* compression = nullptr;  // instead of it
  bool kernels_on_gpu = true;                        // of the compression: the GPU runs a layer or a kernel at a time
  std::int64_t element_bytes = 4;
  int ranks_per_server = 1;
  std::span<const int> placement;  // rank -> endpoint, servers of the schedule behind the ranks
  const HardwareProfile& hardware;
  std::span<const SimTime> start = {};  // when each rank begins; empty: all at 0
  int iterations = 1;
  std::string name = {};                      // goes with what it waits for; "" where there is one job only
  std::vector<MessageRecord>* timeline = {};  // receives every message of the all-reduces
};

template <class Network>
class TrainingDriver final : public Driver {
 public:
  // What the job points to must outlive the driver. `nic_free_at`: by link, shared by all jobs; for SendQueue::nic.
  TrainingDriver(const PlacedTraining& job, Routes& routes, SharedNetwork<Network>& network, std::span<std::int64_t> nic_free_at)
      : job_(job),
        lane_{.routes = routes, .network = network.join(*this), .timeline = job.timeline, .nic_free_at = nic_free_at},
        sends_free_at_(static_cast<std::size_t>(job.schedule.ranks)),
        step_ends_(static_cast<std::size_t>(job.iterations)) {
    check(job.iterations > 0, "{} iterations", job.iterations);
    if (const AiaccSettings* aiacc = std::get_if<AiaccSettings>(&job.engine)) share_of_stream_ = aiacc->compute_share;
    const int ranks = job.schedule.workers();
    for (Rank r = 0; r < ranks; ++r) ranks_.emplace_back(*this, r);
    for (RankState& r : ranks_)
      r.engine = make_engine(
          job.engine, {.rank = r.rank, .ranks = ranks, .gradients = job.step.gradients, .ranks_per_server = job.ranks_per_server}, r);
  }

  void begin() override {
    for (RankState& r : ranks_) begin_step(r, start_of(r.rank));
    settle();
  }

  void ended(std::uint32_t token) override {
    const UnderWay what = lane_.under_way.take(token);
    if (what.kind == UnderWay::Kind::operation_ends) {
      happened(what);
    } else {
      executors_[what.executor]->happened(what);
      orders_done(what.executor);
    }
    settle();
  }

  void never_ends(std::uint32_t) override { blocked_ = true; }  // a step needs all of its messages

  State state() const override {
    if (finished_ranks_ == ranks_.size()) return State::finished;
    return blocked_ || lane_.under_way.empty() ? State::stuck : State::running;
  }

  std::string waiting() const override {
    constexpr std::size_t most = 4000;
    std::string text = (job_.name.empty() ? "" : "job " + job_.name + ": ") + std::string("no progress is possible:");
    for (const RankState& r : ranks_)
      if (r.phase != Phase::finished && text.size() < most)
        text += fmt::format("\n  rank {} in training step {} {}", r.rank, r.steps_done, r.engine->waiting());
    for (const auto& executor : executors_)
      if (executor && text.size() < most) executor->waiting(text, most);
    return text.size() < most ? text : text + "\n  ...";
  }

  // Each from the last rank's end of the one before to the last rank's end: together they are the whole time.
  std::vector<Iteration> iterations() const {
    SimTime before = SimTime::never();
    for (const RankState& r : ranks_) before = std::min(before, start_of(r.rank));
    std::vector<Iteration> out;
    for (const SimTime end : step_ends_) out.push_back({std::exchange(before, end), end});
    return out;
  }

  // Time that a rank computed in a step, on average.
  SimTime computed() const {
    Int128 sum = 0;
    for (const RankState& r : ranks_) sum += r.computed.ps;
    return {static_cast<std::int64_t>(sum / (static_cast<Int128>(ranks_.size()) * job_.iterations))};
  }

  // Time that a rank spent in kernels of compression in a step: the rank with most of it.
  SimTime compressing() const {
    SimTime most;
    for (const RankState& r : ranks_) most = std::max(most, r.compressing);
    return {most.ps / job_.iterations};
  }

  // Of all steps together, control messages included.
  NetworkRun result() const {
    NetworkRun run{.finish = step_ends_.back(), .messages = messages_};
    run.bytes_on_link.resize(static_cast<std::size_t>(lane_.routes.fabric().links()));
    for (std::size_t route = 0; route < lane_.bytes_on_route.size(); ++route)
      for (const Hop& hop : lane_.routes.hops(static_cast<RouteId>(route)))
        run.bytes_on_link[static_cast<std::size_t>(hop.link)] += lane_.bytes_on_route[route];
    return run;
  }

 private:
  using Executor = EventExecutor<Lane<Network>>;
  enum class Phase { forward, backward, reducing, optimizer, finished };
  // What waits for a date, or for the network; in the field `channel` of UnderWay, with `from` the rank.
  enum What : std::uint32_t {
    compute_ends,
    layer_begins,  // of backward, after what has ended at the same date
    phase_ends,    // step: the order's id
    timer_ends,
    control_ends,    // from -> to, step: its number in the pair
    control_handed,  // its receive overhead is over
  };
  struct QueuedOrder {
    int id;
    Bytes size;
  };

  struct RankState final : EngineHost {
    RankState(TrainingDriver& d, Rank r) : driver(d), rank(r) {}
    SimTime now() const override { return driver.lane_.network.now(); }
    void start(const CollectiveOrder& order) override { driver.start(*this, order); }
    void send(Rank to, std::vector<std::byte> message) override { driver.send(rank, to, std::move(message)); }
    void set_timer(SimTime at) override { driver.at_date(at, timer_ends, {.from = rank}); }
    void gradient_reduced(int) override {}  // the optimizer waits for all of them

    TrainingDriver& driver;
    Rank rank;
    std::unique_ptr<GradientEngine> engine = nullptr;
    Phase phase = Phase::forward;
    int steps_done = 0, busy_streams = 0;
    std::size_t layer = 0;  // of backward, under way
    SimTime computed = {}, compressing = {};
    SimTime gpu_free_at = {}, core_free_at = {};          // of what computes, and of a core that compresses
    std::map<int, std::deque<QueuedOrder>> streams = {};  // the first of each is under way
  };
  // Control messages of one rank to another, which arrive in the order of sending.
  struct Pair {
    struct Message {
      std::vector<std::byte> bytes;
      bool arrived = false;
    };
    std::deque<Message> sent;
    int first = 0;                               // the number of the first of them
    std::deque<std::vector<std::byte>> arrived;  // for which the receiver spends its overhead
  };
  struct RunningOrder {
    int stream;
    std::vector<CompressedPhase> phases;                  // of an all-reduce that is not compressed one, the schedule's
    std::vector<std::optional<std::uint32_t>> executors;  // by phase: of exchanges that have begun and not ended
    std::vector<std::size_t> next;                        // by rank: the phase it is in
    int ranks_left;
  };
  struct Opened {
    int order = 0;
    std::size_t phase = 0;
    HardwareProfile hardware = {};  // where the exchange merges
  };

  SimTime start_of(Rank rank) const { return job_.start.empty() ? SimTime{} : job_.start[static_cast<std::size_t>(rank)]; }

  // At once where the date has come, but not before whoever asks has returned.
  void at_date(SimTime at, What what, UnderWay entry) {
    require_in_time(at.ps);
    entry.kind = UnderWay::Kind::operation_ends;
    entry.channel = what;
    if (at > lane_.network.now())
      lane_.network.wake(at, lane_.under_way.add(entry));
    else
      due_.push_back(entry);
  }

  void settle() {
    for (; !due_.empty(); due_.pop_front()) happened(UnderWay{due_.front()});
    finished_.clear();
  }

  void happened(const UnderWay& e) {
    RankState& r = ranks_[static_cast<std::size_t>(e.from)];
    switch (static_cast<What>(e.channel)) {
      case compute_ends:
        return computed(r);
      case layer_begins:
        return begin_layer(r);
      case phase_ends:
        ++running_.at(e.step).next[static_cast<std::size_t>(e.from)];
        return next_phase(r, e.step);
      case timer_ends:
        return r.engine->timer();
      case control_ends:
        return control_arrived(e);
      case control_handed: {
        Pair& pair = pairs_[{e.from, e.to}];
        const std::vector<std::byte> bytes = std::move(pair.arrived.front());
        pair.arrived.pop_front();
        return ranks_[static_cast<std::size_t>(e.to)].engine->received(e.from, bytes);
      }
    }
  }

  void compute(RankState& r, SimTime from, SimTime duration) {
    r.computed += duration;
    r.gpu_free_at = std::max(from, r.gpu_free_at) + duration;
    at_date(r.gpu_free_at, compute_ends, {.from = r.rank});
  }

  void begin_step(RankState& r, SimTime at) {
    r.phase = Phase::forward;
    compute(r, at, job_.step.forward);
  }

  void computed(RankState& r) {
    switch (r.phase) {
      case Phase::forward:
        r.phase = Phase::backward;
        r.layer = 0;
        r.engine->begin_step();
        return begin_layer(r);
      case Phase::backward:
        for (const int gradient : job_.step.backward[r.layer].gradients) r.engine->gradient_ready(gradient);
        ++r.layer;
        return at_date(lane_.network.now(), layer_begins, {.from = r.rank});
      case Phase::optimizer:
        return step_ended(r);
      case Phase::reducing:
      case Phase::finished:
        check(false, "rank {} computes while it waits", r.rank);
    }
  }

  // Streams that reduce while a layer begins take their share from it.
  void begin_layer(RankState& r) {
    if (r.layer == job_.step.backward.size()) {
      r.phase = Phase::reducing;
      r.engine->backward_ended();
      return optimize_if_reduced(r);
    }
    SimTime duration = job_.step.backward[r.layer].duration;
    if (const double taken = share_of_stream_ * r.busy_streams; taken > 0)
      duration = {std::llround(static_cast<double>(duration.ps) / (1 - taken))};
    compute(r, lane_.network.now(), duration);
  }

  void optimize_if_reduced(RankState& r) {
    if (r.phase != Phase::reducing || !r.engine->idle()) return;
    r.phase = Phase::optimizer;
    compute(r, lane_.network.now(), job_.step.optimizer);
  }

  void step_ended(RankState& r) {
    SimTime& last = step_ends_[static_cast<std::size_t>(r.steps_done)];
    last = std::max(last, lane_.network.now());
    if (++r.steps_done < job_.iterations) return begin_step(r, lane_.network.now());
    r.phase = Phase::finished;
    ++finished_ranks_;
  }

  void start(RankState& r, const CollectiveOrder& order) {
    check(order.server < 0 && order.algorithm.empty(), "{}: an order that is no all-reduce of the job's schedule", order.label);
    std::deque<QueuedOrder>& stream = r.streams[order.stream];
    stream.push_back({order.id, order.size});
    if (stream.size() > 1) return;
    ++r.busy_streams;
    begin_order(r, order.stream, stream.front());
  }

  void begin_order(RankState& r, int stream, const QueuedOrder& order) {
    if (!running_.contains(order.id)) {
      check(order.size.count % job_.element_bytes == 0, "an order of {} has elements of {} bytes", to_string(order.size),
            job_.element_bytes);
      RunningOrder& running = running_[order.id];
      running.stream = stream;
      running.phases = phases_of(order.size.count / job_.element_bytes);
      running.executors.resize(running.phases.size());
      running.next.resize(ranks_.size());
      running.ranks_left = static_cast<int>(ranks_.size());
    }
    next_phase(r, order.id);
  }

  std::vector<CompressedPhase> phases_of(std::int64_t elements) {
    if (job_.compression && elements > 0) {
      std::vector<CompressedPhase>& known = phases_[elements];
      if (known.empty()) known = job_.compression->phases(elements);
      return known;
    }
    return {{.schedule = {std::shared_ptr<const Schedule>{}, &job_.schedule}, .elements = elements, .element_bytes = job_.element_bytes}};
  }

  // Begins what the rank does next for the order; at the end of all its phases its part of the order is done.
  void next_phase(RankState& r, int id) {
    RunningOrder& running = running_.at(id);
    std::size_t& at = running.next[static_cast<std::size_t>(r.rank)];
    while (at < running.phases.size() && running.phases[at].root_only && r.rank != 0) ++at;
    if (at == running.phases.size()) {
      const int stream = running.stream;
      if (--running.ranks_left == 0) running_.erase(id);
      return order_ended(r, id, stream);
    }
    const CompressedPhase& phase = running.phases[at];
    if (!phase.is_exchange()) return run_kernel(r, id, phase.duration);
    if (!running.executors[at]) running.executors[at] = open(running, id, at);
    if (phase.reduction) r.compressing += phase.merges[static_cast<std::size_t>(r.rank)] * *phase.reduction;
    const std::uint32_t executor = *running.executors[at];
    executors_[executor]->begin(r.rank, lane_.network.now());
    orders_done(executor);
  }

  void run_kernel(RankState& r, int id, SimTime duration) {
    r.compressing += duration;
    SimTime& free_at = job_.kernels_on_gpu ? r.gpu_free_at : r.core_free_at;
    free_at = std::max(free_at, lane_.network.now()) + duration;
    at_date(free_at, phase_ends, {.step = id, .from = r.rank});
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
    Opened& opened = opened_[number];
    opened = {.order = id, .phase = at};
    if (phase.reduction) {
      opened.hardware = job_.hardware;
      opened.hardware.reduce_launch = *phase.reduction;
      opened.hardware.reduce_rate = {};
    }
    Seat seat{.number = number};
    if (job_.hardware.first_use.ps > 0) {
      std::vector<PeersMet>& met = met_[{running.stream, schedule.channels.size()}];
      met.resize(schedule.channels.size() * static_cast<std::size_t>(schedule.ranks));
      seat.met = met;
    }
    if (job_.hardware.send_queue != SendQueue::channel)
      for (std::int64_t& free_at : sends_free_at_) seat.sends_free_at.push_back(&free_at);
    executors_[number] = std::make_unique<Executor>(Job{.schedule = schedule,
                                                        .placement = job_.placement,
                                                        .elements = phase.elements,
                                                        .element_bytes = phase.element_bytes,
                                                        .hardware = phase.reduction ? opened.hardware : job_.hardware},
                                                    lane_, std::move(seat));
    for (Rank server = schedule.workers(); server < schedule.ranks; ++server) executors_[number]->begin(server, lane_.network.now());
    return number;
  }

  // Ranks that have done their part of the executor's exchange.
  void orders_done(std::uint32_t number) {
    Executor& executor = *executors_[number];
    const auto [id, phase] = std::pair(opened_[number].order, opened_[number].phase);
    if (const auto running = running_.find(id); executor.finished() && running != running_.end()) running->second.executors[phase].reset();
    for (const RankDone& done : std::exchange(executor.done(), {}))
      if (done.rank < static_cast<int>(ranks_.size())) at_date(done.at, phase_ends, {.step = id, .from = done.rank});
    if (!executor.finished()) return;
    messages_ += executor.messages();
    finished_.push_back(std::move(executors_[number]));  // it may be the one that is being asked
    free_.push_back(number);
  }

  void order_ended(RankState& r, int id, int stream) {
    std::deque<QueuedOrder>& queue = r.streams[stream];
    check(!queue.empty() && queue.front().id == id, "rank {}: order {} ends before those of its stream", r.rank, id);
    queue.pop_front();
    if (queue.empty())
      --r.busy_streams;
    else
      begin_order(r, stream, queue.front());
    r.engine->ended(id);
    optimize_if_reduced(r);
  }

  // Messages of a rank leave one after another.
  void send(Rank from, Rank to, std::vector<std::byte> message) {
    std::int64_t& free_at =
        job_.hardware.send_queue == SendQueue::rank ? sends_free_at_[static_cast<std::size_t>(from)] : control_free_at_[from];
    free_at = std::max(free_at, lane_.network.now().ps) + job_.hardware.send_overhead.ps;
    require_in_time(free_at);
    Pair& pair = pairs_[{from, to}];
    const auto bytes = static_cast<std::int64_t>(message.size());
    const UnderWay entry{.bytes = bytes,
                         .channel = control_ends,
                         .step = pair.first + static_cast<int>(pair.sent.size()),
                         .from = from,
                         .to = to,
                         .kind = UnderWay::Kind::operation_ends};
    pair.sent.push_back({std::move(message)});
    const std::uint32_t route =
        route_on(lane_, job_.placement[static_cast<std::size_t>(from)], job_.placement[static_cast<std::size_t>(to)]);
    ++messages_;
    lane_.bytes_on_route[route] += bytes;
    lane_.network.start(route, job_.hardware.wire_bytes(bytes), SimTime{free_at}, lane_.under_way.add(entry));
  }

  void control_arrived(const UnderWay& e) {
    Pair& pair = pairs_[{e.from, e.to}];
    pair.sent[static_cast<std::size_t>(e.step - pair.first)].arrived = true;
    for (; !pair.sent.empty() && pair.sent.front().arrived; pair.sent.pop_front(), ++pair.first) {
      pair.arrived.push_back(std::move(pair.sent.front().bytes));
      at_date(lane_.network.now() + job_.hardware.receive_overhead, control_handed, {.from = e.from, .to = e.to});
    }
  }

  const PlacedTraining job_;
  LaneState<Lane<Network>> lane_;
  std::vector<std::int64_t> sends_free_at_;       // for SendQueue::rank
  std::map<Rank, std::int64_t> control_free_at_;  // otherwise, of control messages
  double share_of_stream_ = 0;                    // of the compute rate
  std::deque<RankState> ranks_;
  std::deque<UnderWay> due_;
  std::map<std::pair<Rank, Rank>, Pair> pairs_;
  std::map<std::pair<int, std::size_t>, std::vector<PeersMet>> met_;  // by stream and channels
  std::map<std::int64_t, std::vector<CompressedPhase>> phases_;       // by elements
  std::map<int, RunningOrder> running_;                               // by id
  std::vector<std::unique_ptr<Executor>> executors_, finished_;
  std::deque<Opened> opened_;  // by executor
  std::vector<std::uint32_t> free_;
  std::vector<SimTime> step_ends_;
  std::size_t finished_ranks_ = 0;
  std::int64_t messages_ = 0;
  bool blocked_ = false;
};

}  // namespace weft
