#include "collectives/training/real_rank.hpp"

#include "collectives/algorithms/registry.hpp"
#include "collectives/schedule/verify.hpp"
#include "collectives/training/stream_workers.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

// Gradients that are small whole numbers, which float32 sums exactly.
int value_of(int step, int gradient, std::int64_t element) { return static_cast<int>((element * 7 + gradient * 13 + step * 5) & 15); }
float own_value(int step, int gradient, std::int64_t element, Rank rank) {
  return static_cast<float>(value_of(step, gradient, element) + rank);
}
float sum_of(int step, int gradient, std::int64_t element, int ranks) {
  return static_cast<float>(ranks * value_of(step, gradient, element) + ranks * (ranks - 1) / 2);
}

std::chrono::nanoseconds as_wall(SimTime time) { return std::chrono::nanoseconds(time.ps / 1000); }

constexpr int of_agreement = -1;  // an all-reduce of the run itself: all ranks have come, and the largest time

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
  Run(const RankLinks& links, StepWork work, int streams, int ranks_per_server)
      : links_(links), work_(std::move(work)), ranks_per_server_(ranks_per_server), memory_(work_.gradients.size()) {
    for (std::size_t g = 0; g < memory_.size(); ++g) memory_[g].resize(static_cast<std::size_t>(work_.gradients[g].count) / sizeof(float));
    const auto broken = [this](std::exception_ptr why) { happened({.kind = Event::broken, .why = std::move(why)}); };
    control_.emplace(
        links,
        [this](Rank from, std::uint32_t epoch, std::vector<std::byte> bytes) {
          happened({.kind = Event::control, .from = from, .epoch = epoch, .bytes = std::move(bytes)});
        },
        broken);
    streams_.emplace(
        links, streams, [this](int id) { happened({.kind = Event::ended, .id = id}); }, broken);
    Request request{.collective = Collective::allreduce, .algorithm = "ring", .ranks = links.ranks};
    agreement_ = std::make_shared<const Schedule>(build(request));
  }
  ~Run() override {
    if (!ended_) links_.fail(fmt::format("rank {} gave up", links_.rank));
  }

  void use(const ReductionChoice& choice) {
    largest(0);  // nobody is in a step
    choice_ = choice;
    ++epoch_;
    timer_.reset();
    engine_ = make_engine(choice.engine,
                          {.rank = links_.rank, .ranks = links_.ranks, .gradients = work_.gradients, .ranks_per_server = ranks_per_server_},
                          *this);
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

  void end() {
    largest(0);
    ended_ = true;
  }

  SimTime now() const override { return {std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - origin_).count() * 1000}; }
  void start(const CollectiveOrder& order) override {
    check(order.server < 0 && order.algorithm.empty(), "{}: an order that is no all-reduce of the run's schedule", order.label);
    ReduceJob job{.id = order.id, .schedule = choice_.schedule, .slices = {}};
    for (const GradientSlice& slice : order.what)
      job.slices.push_back(std::as_writable_bytes(std::span(memory_[static_cast<std::size_t>(slice.gradient)]))
                               .subspan(static_cast<std::size_t>(slice.offset.count), static_cast<std::size_t>(slice.size.count)));
    running_[order.id] = order.stream;
    ++under_way_[order.stream];
    ++measured_.orders;
    measured_.sent_bytes += order.size.count * sent_.counted.max_chunks_sent / sent_.counted.chunks;
    measured_.messages += sent_.counted.messages;
    streams_->start(order.stream, std::move(job));
  }
  void send(Rank to, std::vector<std::byte> message) override { control_->send(to, epoch_, std::move(message)); }
  void set_timer(SimTime at) override { timer_ = at; }
  void gradient_reduced(int gradient) override { reduced_.insert(gradient); }

 private:
  struct Event {
    enum Kind { control, ended, broken } kind;
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
  void optimize_if_reduced();
  double largest(double value);
  void fire_timer() {
    if (!timer_ || now() < *timer_) return;
    timer_.reset();
    engine_->timer();
    optimize_if_reduced();
  }
  SimTime patience() const { return {std::chrono::duration_cast<std::chrono::nanoseconds>(links_.patience).count() * 1000}; }
  void fill();
  void check_sums() const;
  std::string waiting() const { return fmt::format("rank {} waits: {}", links_.rank, engine_ ? engine_->waiting() : "for the others"); }

  RankLinks links_;
  StepWork work_;
  int ranks_per_server_;
  std::vector<std::vector<float>> memory_;
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
  std::set<int> reduced_;
  int step_ = -1;
  Phase phase_ = Phase::finished;
  std::size_t layer_ = 0;
  SimTime deadline_;  // of what is computed
  double agreement_value_ = 0;
  bool agreed_ = false, ended_ = false;
  std::optional<ControlLinks> control_;
  std::optional<StreamWorkers> streams_;  // ends before what its threads use
};

void RealRank::Run::fill() {
  for (std::size_t g = 0; g < memory_.size(); ++g)
    for (std::size_t i = 0; i < memory_[g].size(); ++i)
      memory_[g][i] = own_value(step_, static_cast<int>(g), static_cast<std::int64_t>(i), links_.rank);
}

void RealRank::Run::check_sums() const {
  for (std::size_t g = 0; g < memory_.size(); ++g) {
    if (!reduced_.contains(static_cast<int>(g)))
      throw RunError(fmt::format("rank {}: gradient {} was not reduced in step {}", links_.rank, g, step_));
    for (std::size_t i = 0; i < memory_[g].size(); ++i)
      if (const float wanted = sum_of(step_, static_cast<int>(g), static_cast<std::int64_t>(i), links_.ranks); memory_[g][i] != wanted)
        throw RunError(fmt::format("rank {}: gradient {}, element {} of step {}: is {}, should be {}", links_.rank, g, i, step_,
                                   memory_[g][i], wanted));
  }
}

void RealRank::Run::handle(const Event& event) {
  if (event.kind == Event::broken) std::rethrow_exception(event.why);
  if (event.kind == Event::control) {
    if (event.epoch == epoch_ && engine_) engine_->received(event.from, event.bytes);
  } else if (event.id == of_agreement) {
    agreed_ = true;
  } else {
    const auto at = running_.find(event.id);
    check(at != running_.end(), "order {} ends and was not started", event.id);
    --under_way_[at->second];
    running_.erase(at);
    engine_->ended(event.id);
  }
  optimize_if_reduced();
}

// Streams that reduce while a layer begins take their share from it.
void RealRank::Run::begin_layer() {
  SimTime duration = work_.backward[layer_].duration;
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
  deadline_ = now() + work_.optimizer;
  measured_.computed_s += work_.optimizer.seconds();
}

// The largest of all ranks' values, when all have come here.
double RealRank::Run::largest(double value) {
  agreed_ = false;
  agreement_value_ = value;
  streams_->start(0, {.id = of_agreement,
                      .schedule = agreement_,
                      .dtype = DType::float64,
                      .op = ReduceOp::max,
                      .slices = {std::as_writable_bytes(std::span(&agreement_value_, 1))}});
  const SimTime give_up = now() + patience();
  while (!agreed_) {
    const auto event = next_event(timer_ ? std::min(*timer_, give_up) : give_up);
    if (!event && now() >= give_up) throw RunError(waiting());
    if (event) handle(*event);
    fire_timer();
  }
  return agreement_value_;
}

StepMeasurement RealRank::Run::step() {
  check(engine_ != nullptr, "a step before an engine was chosen");
  ++step_;
  fill();
  reduced_.clear();
  measured_ = {};
  largest(0);
  const SimTime begin = now();
  phase_ = Phase::forward;
  deadline_ = begin + work_.forward;
  measured_.computed_s = work_.forward.seconds();
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
  check_sums();
  return measured_;
}

RealRank::RealRank(const RankLinks& links, StepWork work, int streams, int ranks_per_server)
    : run_(std::make_unique<Run>(links, std::move(work), streams, ranks_per_server)) {}
RealRank::~RealRank() = default;
void RealRank::use(const ReductionChoice& choice) { run_->use(choice); }
StepMeasurement RealRank::step() { return run_->step(); }
void RealRank::end() { run_->end(); }

}  // namespace weft
