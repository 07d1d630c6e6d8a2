// One rank of a training job: forward, backward layer by layer, waiting for what its gradient engine reduces, optimizer, step by step.
#pragma once

#include "sim/training/placed_training.hpp"
#include "sim/training/waits.hpp"

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace weft {

// An order as its rank waits to begin it.
struct QueuedOrder {
  int id;
  Bytes size;
  std::string label;
};

// What a rank asks of whoever runs it. Nothing here calls the rank back before it has returned.
class RankWorld {
 public:
  virtual ~RankWorld() = default;
  virtual SimTime date() const = 0;
  virtual void at(SimTime date, StepEvent what, Rank rank) = 0;
  virtual void begin_order(Rank rank, int stream, const QueuedOrder& order) = 0;  // not negative, or of the parameter server: -1 - server
  virtual void send_control(Rank from, Rank to, std::vector<std::byte> message) = 0;
  virtual void step_ended(int step) = 0;  // at a rank
  virtual void rank_finished() = 0;
};

class TrainingRank final : private EngineHost {
 public:
  // The job and the world must outlive the rank.
  TrainingRank(const PlacedTraining& job, Rank rank, RankWorld& world);

  GradientEngine& engine() { return *engine_; }
  void begin_step(SimTime at);
  // What it has asked for is there.
  void compute_ended();
  void begin_layer();
  void order_ended(int id, int stream);
  void joined_by_all() { waiting_.joined_by_all(now()); }  // one of its orders

  // Kernels of a compression: when this one, from now on, is over.
  SimTime run_kernel(SimTime duration);
  void merges_for(SimTime duration) { compressing_ += duration; }

  int steps_done() const { return steps_done_; }
  bool finished() const { return phase_ == Phase::finished; }
  SimTime computed() const { return computed_; }
  SimTime compressing() const { return compressing_; }
  const Waits& waits() const { return waiting_.total(); }
  std::string waiting() const;  // what for

 private:
  enum class Phase { forward, backward, reducing, optimizer, finished };

  // EngineHost
  SimTime now() const override { return world_.date(); }
  void start(const CollectiveOrder& order) override;
  void send(Rank to, std::vector<std::byte> message) override { world_.send_control(rank_, to, std::move(message)); }
  void set_timer(SimTime at) override { world_.at(at, StepEvent::timer_ends, rank_); }
  void gradient_reduced(int gradient) override;

  void compute(SimTime from, SimTime duration);
  void go_on_forward();
  void backward_ended();
  void if_reduced();
  void count_step();
  void step_ended();
  void begin_order(int stream, const QueuedOrder& order);
  void record() const;
  bool goes_on_at_once() const { return job_.forward_by_layer && steps_begun_ < job_.iterations; }

  const PlacedTraining& job_;
  const Rank rank_;
  RankWorld& world_;
  std::unique_ptr<GradientEngine> engine_;
  double share_of_stream_ = 0;  // of the compute rate
  Phase phase_ = Phase::forward;
  int steps_begun_ = 0, steps_done_ = 0, busy_streams_ = 0;
  std::size_t layer_ = 0;      // of forward or backward, under way
  bool held_ = false;          // its forward pass waits for gradients of the layer
  std::vector<bool> reduced_;  // gradients, of its last backward pass
  SimTime computed_ = {}, compressing_ = {}, compute_began_ = {};
  SimTime gpu_free_at_ = {}, core_free_at_ = {};  // of what computes, and of a core that compresses
  WaitingRank waiting_ = {};
  std::map<int, std::deque<QueuedOrder>> streams_ = {};  // the first of each is under way
  std::map<int, SimTime> order_began_ = {};              // where the timeline asks
  std::map<int, std::string> labels_ = {};
};

}  // namespace weft
