#include "collectives/training/real_rank.hpp"

#include "collectives/registry/registry.hpp"
#include "collectives/schedule/verify.hpp"
#include "collectives/training/compressed_orders.hpp"
#include "collectives/training/known_gradients.hpp"
#include "collectives/training/parameter_servers.hpp"
#include "collectives/training/stream_workers.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

std::chrono::nanoseconds as_wall(SimTime time) { return std::chrono::nanoseconds(time.ps / 1000); }

constexpr int of_the_run = -1;  // what the run itself reduces: all ranks have come, and the largest time

}  // namespace

SimTime StepWork::compute() const {
  SimTime sum = forward + optimizer;
  for (const Backward& layer : backward) sum += layer.duration;
  return sum;
}

int streams_of(const EngineSettings& settings) {
  return std::visit(
      [](const auto& s) {
        if constexpr (requires { s.streams; })
          return static_cast<int>(s.streams);
        else
          return 1;
      },
      settings);
}

class RealRank::Run final : public EngineHost {
 public:
  Run(const RankLinks& links, StepWork work, const RankShape& shape)
      : links_(links), work_(std::move(work)), shape_(shape), gradients_(work_.gradients, links.rank, links.ranks) {
    const auto broken = [this](std::exception_ptr why) { happened({.kind = Event::broken, .why = std::move(why)}); };
    control_.emplace(
        links,
        [this](Rank from, std::uint32_t epoch, std::vector<std::byte> bytes) {
          happened({.kind = Event::control, .from = from, .epoch = epoch, .bytes = std::move(bytes)});
        },
        broken);
    const auto ended = [this](int id) { happened({.kind = Event::ended, .id = id}); };
    if (shape.pushes)
      servers_.emplace(links, links.ranks + shape.streams,
                       ParameterServers::Heard{
                           .pushed = [this](int id) { happened({.kind = Event::pushed, .id = id}); }, .ended = ended, .broken = broken});
    streams_.emplace(links, shape.streams, ended, broken);
    Request request{.collective = Collective::allreduce, .algorithm = "ring", .ranks = links.ranks};
    agreement_ = std::make_shared<const Schedule>(build(request));
  }
  ~Run() override {
    if (!ended_) links_.fail(fmt::format("rank {} gave up", links_.rank));
  }

  // What goes wrong in it is what all ranks hear, before this one gives up.
  template <class Do>
  auto said(Do act) -> decltype(act()) {
    try {
      return act();
    } catch (const std::exception& e) {
      links_.fail(e.what());
      throw;
    }
  }

  void use(const ReductionChoice& choice) {
    largest(0);  // nobody is in a step
    choice_ = choice;
    ++epoch_;
    first_step_ = step_ + 1;
    compressed_.reset();
    if (choice.compression) {
      compressed_.emplace(choice.compression->settings, choice.compression->allreduce, links_.rank, work_.gradients, shape_.streams);
      gradients_.add_up_from(first_step_);
      run_alone({.id = of_the_run, .schedule = {}, .slices = {}, .instead = [this](Transport& t) { compressed_->meet(t); }});
    }
    timer_.reset();
    engine_ = make_engine(choice.engine,
                          {.rank = links_.rank, .ranks = links_.ranks, .gradients = work_.gradients, .machines = links_.ranks}, *this);
    share_ = std::visit(
        [](const auto& s) {
          if constexpr (requires { s.compute_share; })
            return static_cast<double>(s.compute_share);
          else
            return 0.0;
        },
        choice.engine);
    sent_ = traffic(*choice.schedule);
    largest(0);  // all have this engine
  }

  StepMeasurement step();

  void check_nothing_lost();

  void end() {
    largest(0);
    ended_ = true;
  }

  SimTime now() const override { return {std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - origin_).count() * 1000}; }
  void start(const CollectiveOrder& order) override;
  void send(Rank to, std::vector<std::byte> message) override { control_->send(to, epoch_, std::move(message)); }
  void set_timer(SimTime at) override { timer_ = at; }
  void gradient_reduced(int gradient) override { reduced_.insert(gradient); }

 private:
  struct Event {
    enum Kind { control, pushed, ended, broken } kind;
    Rank from = 0;
    std::uint32_t epoch = 0;
    std::vector<std::byte> bytes = {};
    int id = 0;
    std::exception_ptr why = {};
  };
  enum class Phase { forward, backward, reducing, optimizer, finished };

  void happened(Event event) {
    {
      const std::lock_guard lock(mutex_);
      events_.push_back(std::move(event));
    }
    more_.notify_all();
  }
  std::optional<Event> next_event(SimTime until) {
    std::unique_lock lock(mutex_);
    more_.wait_until(lock, origin_ + as_wall(until), [&] { return !events_.empty(); });
    if (events_.empty()) return std::nullopt;
    Event event = std::move(events_.front());
    events_.pop_front();
    return event;
  }
  void handle(const Event& event);
  void advance();
  void begin_layer();
  Rank rank_of_server(int server) const {
    const auto* byteps = std::get_if<BytepsSettings>(&choice_.engine);
    const bool extra = byteps && byteps->server_hosts == ServerHosts::extra;
    return extra ? links_.ranks + server : server % links_.ranks;
  }
  SimTime slowed(SimTime duration) const {
    return slowdown_ == 1 ? duration : SimTime{static_cast<std::int64_t>(static_cast<double>(duration.ps) * slowdown_)};
  }
  void optimize_if_reduced();
  double largest(double value);
  void run_alone(ReduceJob job);
  void fire_timer() {
    if (!timer_ || now() < *timer_) return;
    timer_.reset();
    engine_->timer();
    optimize_if_reduced();
  }
  SimTime patience() const { return {std::chrono::duration_cast<std::chrono::nanoseconds>(links_.patience).count() * 1000}; }
  std::string waiting() const { return fmt::format("rank {} waits: {}", links_.rank, engine_ ? engine_->waiting() : "for the others"); }

  RankLinks links_;
  StepWork work_;
  RankShape shape_;
  KnownGradients gradients_;
  std::optional<CompressedOrders> compressed_;
  Clock::time_point origin_ = Clock::now();
  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<Event> events_;
  ReductionChoice choice_;
  std::shared_ptr<const Schedule> agreement_;
  std::unique_ptr<GradientEngine> engine_;
  std::uint32_t epoch_ = 0;
  double share_ = 0;
  Traffic sent_;
  StepMeasurement measured_;
  std::optional<SimTime> timer_;
  std::map<int, int> running_, under_way_;  // the stream of an order; orders of a stream
  std::set<int> reduced_, leaving_;         // gradients; orders on their way to a server
  int step_ = -1, first_step_ = 0;          // of the choice
  double slowdown_ = 1;
  Phase phase_ = Phase::finished;
  std::size_t layer_ = 0;
  SimTime deadline_;  // of what is computed
  double agreement_value_ = 0;
  bool agreed_ = false, ended_ = false;
  std::optional<ControlLinks> control_;
  std::optional<ParameterServers> servers_;
  std::optional<StreamWorkers> streams_;  // ends before what its threads use
};

void RealRank::Run::start(const CollectiveOrder& order) {
  check(order.algorithm.empty(), "{}: an order of an algorithm other than the run's", order.label);
  ++measured_.orders;
  if (order.server >= 0) {
    check(servers_ && order.what.size() == 1, "{}: pushed in {} pieces, with servers: {}", order.label, order.what.size(),
          servers_.has_value());
    measured_.sent_bytes += order.size.count;
    measured_.messages += 2 * links_.ranks;
    leaving_.insert(order.id);
    return servers_->push(order.id, rank_of_server(order.server), gradients_.slice(order.what.front()));
  }
  ReduceJob job{.id = order.id, .schedule = choice_.schedule, .slices = {}};
  for (const GradientSlice& slice : order.what) job.slices.push_back(gradients_.slice(slice));
  running_[order.id] = order.stream;
  ++under_way_[order.stream];
  if (compressed_) {
    const CompressedOrders::Cost cost = compressed_->cost(order.size);
    measured_.sent_bytes += cost.sent_bytes;
    measured_.messages += cost.messages;
    job.instead = [this, stream = order.stream, what = order.what, slices = job.slices](Transport& transport) {
      compressed_->reduce(stream, what, slices, transport);
    };
  } else {
    measured_.sent_bytes += order.size.count * sent_.counted.max_chunks_sent / sent_.counted.chunks;
    measured_.messages += sent_.counted.messages;
  }
  streams_->start(order.stream, std::move(job));
}

void RealRank::Run::handle(const Event& event) {
  if (event.kind == Event::broken) std::rethrow_exception(event.why);
  if (event.kind == Event::control) {
    if (event.epoch == epoch_ && engine_) engine_->received(event.from, event.bytes);
  } else if (event.kind == Event::pushed) {
    if (leaving_.erase(event.id) > 0) engine_->pushed(event.id);
  } else if (event.id == of_the_run) {
    agreed_ = true;
  } else {
    if (const auto at = running_.find(event.id); at != running_.end()) {
      --under_way_[at->second];
      running_.erase(at);
    }
    if (leaving_.erase(event.id) > 0) engine_->pushed(event.id);  // the sum may be here before the sending thread says that it has sent
    engine_->ended(event.id);
  }
  optimize_if_reduced();
}

// Streams that reduce while a layer begins take their share from it.
void RealRank::Run::begin_layer() {
  SimTime duration = slowed(work_.backward[layer_].duration);
  const auto busy = std::ranges::count_if(under_way_, [](const auto& stream) { return stream.second > 0; });
  if (const double taken = share_ * static_cast<double>(busy); taken > 0 && taken < 1)
    duration = {static_cast<std::int64_t>(static_cast<double>(duration.ps) / (1 - taken))};
  deadline_ += duration;
  measured_.computed_s += duration.seconds();
}

// What was computed is done.
void RealRank::Run::advance() {
  if (phase_ == Phase::optimizer) {
    phase_ = Phase::finished;
    return;
  }
  if (phase_ == Phase::forward) {
    phase_ = Phase::backward;
    layer_ = 0;
    engine_->begin_step();
  } else {
    for (const int gradient : work_.backward[layer_].gradients) engine_->gradient_ready(gradient);
    ++layer_;
  }
  if (layer_ < work_.backward.size()) return begin_layer();
  phase_ = Phase::reducing;
  engine_->backward_ended();
  optimize_if_reduced();
}

void RealRank::Run::optimize_if_reduced() {
  if (phase_ != Phase::reducing || !engine_->idle()) return;
  phase_ = Phase::optimizer;
  const SimTime duration = slowed(work_.optimizer);
  deadline_ = now() + duration;
  measured_.computed_s += duration.seconds();
}

// The largest of all ranks' values, when all have come here.
double RealRank::Run::largest(double value) {
  agreement_value_ = value;
  run_alone({.id = of_the_run,
             .schedule = agreement_,
             .dtype = DType::float64,
             .op = ReduceOp::max,
             .slices = {std::as_writable_bytes(std::span(&agreement_value_, 1))}});
  return agreement_value_;
}

// On the first stream, while no step goes on.
void RealRank::Run::run_alone(ReduceJob job) {
  agreed_ = false;
  streams_->start(0, std::move(job));
  const SimTime give_up = now() + patience();
  while (!agreed_) {
    const auto event = next_event(timer_ ? std::min(*timer_, give_up) : give_up);
    if (!event && now() >= give_up) throw RunError(waiting());
    if (event) handle(*event);
    fire_timer();
  }
}

void RealRank::Run::check_nothing_lost() {
  if (!compressed_) return;
  std::vector<std::vector<float>> kept(compressed_->kept().begin(), compressed_->kept().end());
  for (std::vector<float>& of_gradient : kept)
    run_alone({.id = of_the_run, .schedule = agreement_, .slices = {std::as_writable_bytes(std::span(of_gradient))}});
  gradients_.check_nothing_lost(kept);
}

StepMeasurement RealRank::Run::step() {
  check(engine_ != nullptr, "a step before an engine was chosen");
  ++step_;
  gradients_.fill(step_);
  reduced_.clear();
  measured_ = {};
  slowdown_ = work_.slowdown ? work_.slowdown(links_.rank, step_ - first_step_) : 1;
  largest(0);
  const SimTime begin = now();
  phase_ = Phase::forward;
  deadline_ = begin + slowed(work_.forward);
  measured_.computed_s = slowed(work_.forward).seconds();
  while (phase_ != Phase::finished) {
    const bool computes = phase_ != Phase::reducing;
    const SimTime give_up = now() + patience();
    SimTime until = computes ? deadline_ : give_up;
    if (timer_) until = std::min(until, *timer_);
    const auto event = next_event(until);
    if (event) handle(*event);
    fire_timer();
    if (phase_ != Phase::reducing && now() >= deadline_) advance();
    if (!event && !computes && !timer_ && now() >= give_up) throw RunError(waiting());
  }
  measured_.seconds = largest((now() - begin).seconds());
  if (compressed_) {
    measured_.kernels_s = compressed_->take_kernel_seconds();
    gradients_.add_up(step_, reduced_);
  } else {
    gradients_.check_sums(step_, reduced_);
  }
  return measured_;
}

int RealRank::channels(const RankLinks& links, const RankShape& shape) {
  return links.ranks + shape.streams + (shape.pushes ? MessageLinks::channels(links.all()) : 0);
}

RealRank::RealRank(const RankLinks& links, StepWork work, const RankShape& shape)
    : run_(std::make_unique<Run>(links, std::move(work), shape)) {}
RealRank::~RealRank() = default;
void RealRank::use(const ReductionChoice& choice) {
  run_->said([&] { run_->use(choice); });
}
StepMeasurement RealRank::step() {
  return run_->said([&] { return run_->step(); });
}
void RealRank::check_nothing_lost() {
  run_->said([&] { run_->check_nothing_lost(); });
}
void RealRank::end() {
  run_->said([&] { run_->end(); });
}

void serve(const RankLinks& links, const RankShape& shape) { ParameterServers::serve(links, links.ranks + shape.streams); }

}  // namespace weft
