#include "sim/training/training_rank.hpp"

#include <algorithm>
#include <cmath>

namespace weft {

TrainingRank::TrainingRank(const PlacedTraining& job, Rank rank, RankWorld& world)
    : job_(job), rank_(rank), world_(world), reduced_(job.step.gradients.size()) {
  if (const AiaccSettings* aiacc = std::get_if<AiaccSettings>(&job.engine)) share_of_stream_ = aiacc->compute_share;
  engine_ = make_engine(job.engine,
                        {.rank = rank, .ranks = job.schedule.workers(), .gradients = job.step.gradients, .machines = job.machines}, *this);
}

void TrainingRank::gradient_reduced(int gradient) {
  reduced_[static_cast<std::size_t>(gradient)] = true;
  go_on_forward();
}

// From now on, or from the rank's start.
void TrainingRank::compute(SimTime from, SimTime duration) {
  if (job_.slowdown) duration = {std::llround(static_cast<double>(duration.ps) * job_.slowdown(rank_, steps_begun_ - 1))};
  computed_ += duration;
  const SimTime begin = std::max(from, gpu_free_at_);
  waiting_.held_up_by_kernels(begin - from);
  compute_began_ = gpu_free_at_ = begin;
  gpu_free_at_ += duration;
  waiting_.waits(false, std::max(from, now()));
  world_.at(gpu_free_at_, StepEvent::compute_ends, rank_);
}

void TrainingRank::begin_step(SimTime at) {
  ++steps_begun_;
  phase_ = Phase::forward;
  layer_ = 0;
  if (!job_.forward_by_layer) return compute(at, job_.step.forward);
  if (steps_begun_ == 1) return compute(at, job_.step.layers.front().duration);
  held_ = true;
  go_on_forward();
}

// Begins the layer that the forward pass is at, once its gradients are reduced.
void TrainingRank::go_on_forward() {
  if (!held_) return;
  const TrainingStep::Forward& layer = job_.step.layers[layer_];
  const bool ready =
      steps_begun_ == 1 || std::ranges::all_of(layer.gradients, [&](int g) { return bool{reduced_[static_cast<std::size_t>(g)]}; });
  waiting_.waits(!ready, now());
  if (!ready) return;
  held_ = false;
  compute(now(), steps_begun_ == 1 ? layer.duration : layer.update + layer.duration);
}

void TrainingRank::compute_ended() {
  record();
  switch (phase_) {
    case Phase::forward:
      if (job_.forward_by_layer && ++layer_ < job_.step.layers.size()) {
        held_ = true;
        return go_on_forward();
      }
      phase_ = Phase::backward;
      layer_ = 0;
      reduced_.assign(reduced_.size(), false);
      engine_->begin_step();
      return begin_layer();
    case Phase::backward:
      for (const int gradient : job_.step.backward[layer_].gradients) engine_->gradient_ready(gradient);
      ++layer_;
      return world_.at(now(), StepEvent::layer_begins, rank_);
    case Phase::optimizer:
      return step_ended();
    case Phase::reducing:
    case Phase::finished:
      check(false, "rank {} computes while it waits", rank_);
  }
}

// Streams that reduce while a layer begins take their share from it.
void TrainingRank::begin_layer() {
  if (layer_ == job_.step.backward.size()) return backward_ended();
  SimTime duration = job_.step.backward[layer_].duration;
  if (const double taken = share_of_stream_ * busy_streams_; taken > 0)
    duration = {std::llround(static_cast<double>(duration.ps) / (1 - taken))};
  compute(now(), duration);
}

void TrainingRank::backward_ended() {
  phase_ = Phase::reducing;
  waiting_.waits(true, now());
  engine_->backward_ended();
  if (goes_on_at_once()) begin_step(now());
  if_reduced();
}

// After an all-reduce has ended, or the backward pass has.
void TrainingRank::if_reduced() {
  if (!engine_->idle()) return;
  if (phase_ == Phase::reducing) {
    phase_ = Phase::optimizer;
    return compute(now(), job_.step.optimizer);
  }
  // The step before the forward pass that is under way.
  if (phase_ == Phase::forward && steps_done_ + 1 < steps_begun_) count_step();
}

void TrainingRank::count_step() { world_.step_ended(steps_done_++); }

void TrainingRank::step_ended() {
  count_step();
  if (steps_done_ < job_.iterations) return begin_step(now());
  phase_ = Phase::finished;
  world_.rank_finished();
}

void TrainingRank::record() const {
  if (!job_.spans) return;
  std::string what = phase_ == Phase::optimizer  ? "optimizer"
                     : phase_ == Phase::backward ? fmt::format("backward, layer {} of {}", layer_ + 1, job_.step.backward.size())
                     : job_.forward_by_layer     ? fmt::format("forward, layer {} of {}", layer_ + 1, job_.step.layers.size())
                                                 : "forward";
  job_.spans->push_back({job_.name_of(rank_), SpanRecord::Kind::compute, 0, std::move(what), compute_began_, now()});
}

void TrainingRank::start(const CollectiveOrder& order) {
  check(order.algorithm.empty(), "{}: an order of an algorithm other than the job's", order.label);
  if (order.server >= 0) return begin_order(-1 - order.server, {order.id, order.size, order.label});
  std::deque<QueuedOrder>& stream = streams_[order.stream];
  stream.push_back({order.id, order.size, order.label});
  if (stream.size() > 1) return;
  ++busy_streams_;
  begin_order(order.stream, QueuedOrder{stream.front()});
}

void TrainingRank::begin_order(int stream, const QueuedOrder& order) {
  if (job_.spans) order_began_[order.id] = now(), labels_[order.id] = order.label;
  waiting_.all_reduce_began(now());
  world_.begin_order(rank_, stream, order);
}

void TrainingRank::order_ended(int id, int stream) {
  if (job_.spans)
    job_.spans->push_back({job_.name_of(rank_), SpanRecord::Kind::collective, std::max(stream, -1), labels_.extract(id).mapped(),
                           order_began_.extract(id).mapped(), now()});
  waiting_.all_reduce_ended(now());
  if (stream >= 0) {
    std::deque<QueuedOrder>& queue = streams_[stream];
    check(!queue.empty() && queue.front().id == id, "rank {}: order {} ends before those of its stream", rank_, id);
    queue.pop_front();
    if (queue.empty())
      --busy_streams_;
    else
      begin_order(stream, QueuedOrder{queue.front()});
  }
  engine_->ended(id);
  if_reduced();
}

SimTime TrainingRank::run_kernel(SimTime duration) {
  compressing_ += duration;
  SimTime& free_at = job_.kernels_on_gpu ? gpu_free_at_ : core_free_at_;
  return free_at = std::max(free_at, now()) + duration;
}

std::string TrainingRank::waiting() const {
  return fmt::format("rank {} in training step {} {}", job_.name_of(rank_), steps_done_, engine_->waiting());
}

}  // namespace weft
