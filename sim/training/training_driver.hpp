// A training job on a shared network. In each step a rank computes forward, then backward layer by layer, while a gradient engine
// (collectives/engines/engine.hpp) decides when which gradients are reduced; when all are, the rank calls the optimizer and goes
// on with its next step, without waiting for the others. Where forward goes layer by layer it waits for the gradients of each layer
// only, which it updates first. Every order of the engines is a run of a schedule in an executor of its own; control messages cross
// the same network.
#pragma once

#include "collectives/engines/engines.hpp"
#include "collectives/schedule/merge_steps.hpp"
#include "models/compressed_allreduce.hpp"
#include "sim/network/event_executor.hpp"
#include "sim/network/shared_network.hpp"
#include "sim/training/control_plane.hpp"
#include "sim/training/training_step.hpp"
#include "sim/training/waits.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
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
  const Schedule& schedule;                           // of each all-reduce
  std::span<const std::vector<int>> stands_for = {};  // where its steps are merged (merge_steps.hpp)
  const CompressedAllreduce* compression = nullptr;   // instead of it
  bool kernels_on_gpu = true;                         // of the compression: the GPU runs a layer or a kernel at a time
  const Schedule* push_pull = nullptr;                // of a partition that goes to a parameter server: its last rank
  std::vector<int> servers = {};                      // the endpoints of parameter servers
  std::int64_t element_bytes = 4;                     // on the wire
  int ranks_per_server = 1;
  std::span<const int> placement;  // rank -> endpoint, servers of the schedule behind the ranks
  const HardwareProfile& hardware;
  std::vector<SimTime> start = {};  // when each rank begins; empty: all at 0
  int iterations = 1;
  bool forward_by_layer = false;
  std::function<double(Rank, int step)> slowdown = {};  // of what it computes; empty: none
  std::string name = {};                                // goes with what it waits for; "" where there is one job only
  std::vector<Rank> members = {};                       // what its ranks are called; empty: as they are
  std::vector<MessageRecord>* timeline = {};            // receives every message of the all-reduces
  std::vector<SpanRecord>* spans = {};                  // receives what each rank does
  Regime regime = {};                                   // of the all-reduces
};

template <class Network>
class TrainingDriver final : public Driver {
 public:
  // What the job points to must outlive the driver. `nic_free_at`: by link, shared by all jobs; for SendQueue::nic.
  TrainingDriver(const PlacedTraining& job, Routes& routes, SharedNetwork<Network>& network, std::span<std::int64_t> nic_free_at)
      : job_(job),
        lane_{.routes = routes, .network = network.join(*this), .timeline = job.timeline, .nic_free_at = nic_free_at},
        control_(lane_, job_.placement, job_.hardware),
        sends_free_at_(static_cast<std::size_t>(job.schedule.ranks) + job.servers.size()),
        control_free_at_(static_cast<std::size_t>(job.schedule.workers())),
        step_ends_(static_cast<std::size_t>(job.iterations)) {
    check(job.iterations > 0, "{} iterations", job.iterations);
    check(!job.forward_by_layer || !job.step.layers.empty(), "a forward pass by layers without any");
    if (const AiaccSettings* aiacc = std::get_if<AiaccSettings>(&job.engine)) share_of_stream_ = aiacc->compute_share;
    waits_for_sends_ = job.hardware.rendezvous_threshold == HardwareProfile{}.rendezvous_threshold;
    const int ranks = job.schedule.workers();
    for (const int server : job.servers) {
      std::vector<int>& places = placements_.emplace_back(job.placement.begin(), job.placement.begin() + ranks);
      places.push_back(server);
    }
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
      const Opened& opened = opened_[what.executor];
      if (opened.server >= 0 && what.kind == UnderWay::Kind::message && what.step == 0 && waits_for_sends_)
        has_sent(opened.order, what.from);
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
        text += fmt::format("\n  rank {} in training step {} {}", name_of(r.rank), r.steps_done, r.engine->waiting());
    for (const auto& executor : executors_)
      if (executor && text.size() < most) executor->waiting(text, most);
    return text.size() < most ? text : text + "\n  ...";
  }

  // Each from the last rank's end of the one before to the last rank's end: together they are the whole time.
  double share() const override { return static_cast<double>(ranks_.front().steps_done) / static_cast<double>(step_ends_.size()); }

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
    return averaged(sum);
  }

  // What a rank waited for in a step, on average. What it waited for others at the start and the end is in none.
  Waits waits() const {
    Int128 communication = 0, stragglers = 0, negotiation = 0;
    for (const RankState& r : ranks_) {
      const Waits& w = r.waiting.total();
      communication += w.communication.ps, stragglers += w.stragglers.ps, negotiation += w.negotiation.ps;
    }
    return {averaged(communication), averaged(stragglers), averaged(negotiation)};
  }

  // Time that a rank spent in kernels of compression in a step: the rank with most of it.
  SimTime compressing() const {
    SimTime most;
    for (const RankState& r : ranks_) most = std::max(most, r.compressing);
    return {most.ps / job_.iterations};
  }

  // Of all steps together, control messages included.
  NetworkRun result() const {
    return {.finish = step_ends_.back(), .bytes_on_link = lane_.bytes_on_link(), .messages = messages_ + control_.messages()};
  }

 private:
  using Executor = EventExecutor<Lane<Network>>;
  enum class Phase { forward, backward, reducing, optimizer, finished };
  // What waits for a date, or for the network; in the field `channel` of UnderWay, with `from` the rank.
  enum What : std::uint32_t {
    compute_ends,
    layer_begins,  // of backward, after what has ended at the same date
    phase_ends,    // step: the order's id
    push_ends,     // step: its id
    timer_ends,
    control_ends,    // from -> to, step: its number in the pair
    control_handed,  // its receive overhead is over
  };
  struct QueuedOrder {
    int id;
    Bytes size;
    std::string label;
  };

  struct RankState final : EngineHost {
    RankState(TrainingDriver& d, Rank r) : driver(d), rank(r), reduced(d.job_.step.gradients.size()) {}
    SimTime now() const override { return driver.lane_.network.now(); }
    void start(const CollectiveOrder& order) override { driver.start(*this, order); }
    void send(Rank to, std::vector<std::byte> message) override { driver.send(rank, to, std::move(message)); }
    void set_timer(SimTime at) override { driver.at_date(at, timer_ends, {.from = rank}); }
    void gradient_reduced(int gradient) override {
      reduced[static_cast<std::size_t>(gradient)] = true;
      driver.go_on_forward(*this);
    }

    TrainingDriver& driver;
    Rank rank;
    std::unique_ptr<GradientEngine> engine = nullptr;
    Phase phase = Phase::forward;
    int steps_begun = 0, steps_done = 0, busy_streams = 0;
    std::size_t layer = 0;      // of forward or backward, under way
    bool held = false;          // its forward pass waits for gradients of the layer
    std::vector<bool> reduced;  // gradients, of its last backward pass
    SimTime computed = {}, compressing = {}, compute_began = {};
    SimTime gpu_free_at = {}, core_free_at = {};  // of what computes, and of a core that compresses
    WaitingRank waiting = {};
    std::map<int, std::deque<QueuedOrder>> streams = {};  // the first of each is under way
    std::map<int, SimTime> order_began = {};              // where the timeline asks
    std::map<int, std::string> labels = {};
  };
  struct RunningOrder {
    int stream;  // not negative, or of the parameter server: -1 - server
    int joined = 0;
    std::vector<CompressedPhase> phases;                  // of an all-reduce that is not compressed one, the schedule's
    std::vector<std::optional<std::uint32_t>> executors;  // by phase: of exchanges that have begun and not ended
    std::vector<std::size_t> next;                        // by rank: the phase it is in
    std::vector<int> to_send = {};                        // of a push, by rank: messages of its first step that have not ended
    int ranks_left = 0;

    int server() const { return stream < 0 ? -1 - stream : -1; }
  };
  struct Opened {  // by an executor
    int order = 0;
    std::size_t phase = 0;
    int server = -1;
    HardwareProfile hardware = {};  // where the exchange merges
  };

  SimTime start_of(Rank rank) const { return job_.start.empty() ? SimTime{} : job_.start[static_cast<std::size_t>(rank)]; }
  Rank name_of(Rank rank) const { return job_.members.empty() ? rank : job_.members[static_cast<std::size_t>(rank)]; }
  SimTime averaged(Int128 sum) const { return {static_cast<std::int64_t>(sum / (static_cast<Int128>(ranks_.size()) * job_.iterations))}; }
  RankState& rank_state(Rank rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  SimTime now() const { return lane_.network.now(); }

  // At once where the date has come, but not before whoever asks has returned.
  void at_date(SimTime at, What what, UnderWay entry) {
    require_in_time(at.ps);
    entry.kind = UnderWay::Kind::operation_ends;
    entry.channel = what;
    if (at > now())
      lane_.network.wake(at, lane_.under_way.add(entry));
    else
      due_.push_back(entry);
  }

  // A partition has left a rank when all that it sends of it in the first step has: to its parameter server, or to the other GPUs of its
  // machine, which need not have come to it. Where receivers are waited for it counts as gone at once: ranks that have chosen different
  // partitions would wait for each other for ever.
  void has_sent(int id, Rank rank) {
    std::vector<int>& left = running_.at(id).to_send;
    if (--left[static_cast<std::size_t>(rank)] == 0) due_.push_back({.channel = push_ends, .step = id, .from = rank});
  }

  void settle() {
    for (; !due_.empty(); due_.pop_front()) happened(UnderWay{due_.front()});
    finished_.clear();
  }

  void happened(const UnderWay& e) {
    RankState& r = rank_state(e.from);
    switch (static_cast<What>(e.channel)) {
      case compute_ends:
        return computed(r);
      case layer_begins:
        return begin_layer(r);
      case phase_ends:
        ++running_.at(e.step).next[static_cast<std::size_t>(e.from)];
        return next_phase(r, e.step);
      case push_ends:
        return r.engine->pushed(e.step);
      case timer_ends:
        return r.engine->timer();
      case control_ends:
        for (int count = control_.arrived(e); count > 0; --count)
          at_date(now() + job_.hardware.receive_overhead, control_handed, {.from = e.from, .to = e.to});
        return;
      case control_handed: {
        const auto message = control_.take(e.from, e.to);
        if (job_.spans)
          job_.spans->push_back(
              {name_of(e.to), SpanRecord::Kind::control, 0, fmt::format("from rank {}", name_of(e.from)), message.sent, now()});
        return rank_state(e.to).engine->received(e.from, message.bytes);
      }
    }
  }

  // From now on, or from the rank's start.
  void compute(RankState& r, SimTime from, SimTime duration) {
    if (job_.slowdown) duration = {std::llround(static_cast<double>(duration.ps) * job_.slowdown(r.rank, r.steps_begun - 1))};
    r.computed += duration;
    r.gpu_free_at = std::max(from, r.gpu_free_at);
    r.compute_began = r.gpu_free_at;
    r.gpu_free_at += duration;
    r.waiting.waits(false, std::max(from, now()));
    at_date(r.gpu_free_at, compute_ends, {.from = r.rank});
  }

  void begin_step(RankState& r, SimTime at) {
    ++r.steps_begun;
    r.phase = Phase::forward;
    r.layer = 0;
    if (!job_.forward_by_layer) return compute(r, at, job_.step.forward);
    if (r.steps_begun == 1) return compute(r, at, job_.step.layers.front().duration);
    r.held = true;
    go_on_forward(r);
  }

  // Begins the layer that the forward pass is at, once its gradients are reduced.
  void go_on_forward(RankState& r) {
    if (!r.held) return;
    const TrainingStep::Forward& layer = job_.step.layers[r.layer];
    const bool ready =
        r.steps_begun == 1 || std::ranges::all_of(layer.gradients, [&](int g) { return bool{r.reduced[static_cast<std::size_t>(g)]}; });
    r.waiting.waits(!ready, now());
    if (!ready) return;
    r.held = false;
    compute(r, now(), r.steps_begun == 1 ? layer.duration : layer.update + layer.duration);
  }

  void computed(RankState& r) {
    record(r);
    switch (r.phase) {
      case Phase::forward:
        if (job_.forward_by_layer && ++r.layer < job_.step.layers.size()) {
          r.held = true;
          return go_on_forward(r);
        }
        r.phase = Phase::backward;
        r.layer = 0;
        r.reduced.assign(r.reduced.size(), false);
        r.engine->begin_step();
        return begin_layer(r);
      case Phase::backward:
        for (const int gradient : job_.step.backward[r.layer].gradients) r.engine->gradient_ready(gradient);
        ++r.layer;
        return at_date(now(), layer_begins, {.from = r.rank});
      case Phase::optimizer:
        return step_ended(r);
      case Phase::reducing:
      case Phase::finished:
        check(false, "rank {} computes while it waits", r.rank);
    }
  }

  // Streams that reduce while a layer begins take their share from it.
  void begin_layer(RankState& r) {
    if (r.layer == job_.step.backward.size()) return backward_ended(r);
    SimTime duration = job_.step.backward[r.layer].duration;
    if (const double taken = share_of_stream_ * r.busy_streams; taken > 0)
      duration = {std::llround(static_cast<double>(duration.ps) / (1 - taken))};
    compute(r, now(), duration);
  }

  bool goes_on_at_once(const RankState& r) const { return job_.forward_by_layer && r.steps_begun < job_.iterations; }

  void backward_ended(RankState& r) {
    r.phase = Phase::reducing;
    r.waiting.waits(true, now());
    r.engine->backward_ended();
    if (goes_on_at_once(r)) begin_step(r, now());
    if_reduced(r);
  }

  // After an all-reduce has ended, or the backward pass has.
  void if_reduced(RankState& r) {
    if (!r.engine->idle()) return;
    if (r.phase == Phase::reducing) {
      r.phase = Phase::optimizer;
      return compute(r, now(), job_.step.optimizer);
    }
    // The step before the forward pass that is under way.
    if (r.phase == Phase::forward && r.steps_done + 1 < r.steps_begun) count_step(r);
  }

  void count_step(RankState& r) {
    SimTime& last = step_ends_[static_cast<std::size_t>(r.steps_done++)];
    last = std::max(last, now());
  }

  void step_ended(RankState& r) {
    count_step(r);
    if (r.steps_done < job_.iterations) return begin_step(r, now());
    r.phase = Phase::finished;
    ++finished_ranks_;
  }

  void record(const RankState& r) {
    if (!job_.spans) return;
    std::string what = r.phase == Phase::optimizer  ? "optimizer"
                       : r.phase == Phase::backward ? fmt::format("backward, layer {} of {}", r.layer + 1, job_.step.backward.size())
                       : job_.forward_by_layer      ? fmt::format("forward, layer {} of {}", r.layer + 1, job_.step.layers.size())
                                                    : "forward";
    job_.spans->push_back({name_of(r.rank), SpanRecord::Kind::compute, 0, std::move(what), r.compute_began, now()});
  }

  void start(RankState& r, const CollectiveOrder& order) {
    check(order.algorithm.empty(), "{}: an order of an algorithm other than the job's", order.label);
    if (order.server >= 0) return begin_order(r, -1 - order.server, {order.id, order.size, order.label});
    std::deque<QueuedOrder>& stream = r.streams[order.stream];
    stream.push_back({order.id, order.size, order.label});
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
      running.phases = phases_of(order.size.count / job_.element_bytes, running.server() >= 0);
      running.executors.resize(running.phases.size());
      running.next.resize(ranks_.size());
      running.ranks_left = static_cast<int>(ranks_.size());
      if (stream < 0) running.to_send.assign(ranks_.size(), std::max(1, job_.push_pull->chunks - 1));
    }
    if (stream < 0 && !waits_for_sends_) due_.push_back({.channel = push_ends, .step = order.id, .from = r.rank});
    if (job_.spans) r.order_began[order.id] = now(), r.labels[order.id] = order.label;
    r.waiting.all_reduce_began(now());
    if (++running_.at(order.id).joined == static_cast<int>(ranks_.size()))
      for (RankState& each : ranks_) each.waiting.joined_by_all(now());
    next_phase(r, order.id);
  }

  std::vector<CompressedPhase> phases_of(std::int64_t elements, bool pushed) {
    if (job_.compression && elements > 0) {
      std::vector<CompressedPhase>& known = phases_[elements];
      if (known.empty()) known = job_.compression->phases(elements);
      return known;
    }
    const Schedule* whole = pushed ? job_.push_pull : &job_.schedule;
    return {{.schedule = {std::shared_ptr<const Schedule>{}, whole}, .elements = elements, .element_bytes = job_.element_bytes}};
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
    executors_[executor]->begin(r.rank, now());
    orders_done(executor);
  }

  void run_kernel(RankState& r, int id, SimTime duration) {
    r.compressing += duration;
    SimTime& free_at = job_.kernels_on_gpu ? r.gpu_free_at : r.core_free_at;
    free_at = std::max(free_at, now()) + duration;
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
    const int server = running.server(), stream = running.stream;
    Opened& opened = opened_[number];
    opened = {.order = id, .phase = at, .server = server};
    if (phase.reduction) {
      opened.hardware = job_.hardware;
      opened.hardware.reduce_launch = *phase.reduction;
      opened.hardware.reduce_rate = {};
    }
    // A worker has one connection to a parameter server, whatever it pushes.
    Seat seat{.number = number,
              .members = job_.members,
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
    executors_[number] = std::make_unique<Executor>(
        Job{.schedule = schedule,
            .placement = server < 0 ? job_.placement : std::span<const int>(placements_[static_cast<std::size_t>(server)]),
            .elements = phase.elements,
            .element_bytes = phase.element_bytes,
            .hardware = phase.reduction ? opened.hardware : job_.hardware,
            .regime = job_.regime,
            .stands_for = &schedule == &job_.schedule ? job_.stands_for : std::span<const std::vector<int>>{}},
        lane_, std::move(seat));
    for (Rank of_schedule = schedule.workers(); of_schedule < schedule.ranks; ++of_schedule) executors_[number]->begin(of_schedule, now());
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
    if (job_.spans)
      job_.spans->push_back({name_of(r.rank), SpanRecord::Kind::reduction, std::max(stream, -1), r.labels.extract(id).mapped(),
                             r.order_began.extract(id).mapped(), now()});
    r.waiting.all_reduce_ended(now());
    if (stream >= 0) {
      std::deque<QueuedOrder>& queue = r.streams[stream];
      check(!queue.empty() && queue.front().id == id, "rank {}: order {} ends before those of its stream", r.rank, id);
      queue.pop_front();
      if (queue.empty())
        --r.busy_streams;
      else
        begin_order(r, stream, QueuedOrder{queue.front()});
    }
    r.engine->ended(id);
    if_reduced(r);
  }

  void send(Rank from, Rank to, std::vector<std::byte> message) {
    std::vector<std::int64_t>& queue = job_.hardware.send_queue == SendQueue::rank ? sends_free_at_ : control_free_at_;
    control_.send(from, to, std::move(message), queue[static_cast<std::size_t>(from)], control_ends);
  }

  const PlacedTraining job_;
  LaneState<Lane<Network>> lane_;
  ControlPlane<Lane<Network>> control_;
  std::vector<std::int64_t> sends_free_at_;    // for SendQueue::rank and ::nic
  std::vector<std::int64_t> control_free_at_;  // otherwise, of control messages
  double share_of_stream_ = 0;                 // of the compute rate
  bool waits_for_sends_ = true;                // before a push counts as gone
  std::deque<std::vector<int>> placements_;    // of the workers and each parameter server
  std::deque<RankState> ranks_;
  std::deque<UnderWay> due_;
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
