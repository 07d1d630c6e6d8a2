// What all engines share: which gradients are ready, which orders run, and what of each gradient is still to be reduced.
#pragma once

#include "collectives/engines/engine.hpp"

#include <map>

namespace weft {

class EngineBase : public GradientEngine {
 public:
  void begin_step() final;
  void gradient_ready(int gradient) final;
  void backward_ended() final;
  void received(Rank from, std::span<const std::byte>) override;
  void pushed(int) override {}
  void ended(int order) final;
  void timer() override {}
  bool idle() const override { return unreduced_ == 0; }
  std::string waiting() const override;

 protected:
  EngineBase(const EngineSetup& setup, EngineHost& host);

  virtual void on_begin() {}
  virtual void on_ready(int gradient) = 0;
  virtual void on_backward_ended() {}

  const EngineSetup& setup() const { return setup_; }
  EngineHost& host() { return host_; }
  int gradients() const { return static_cast<int>(setup_.gradients.size()); }
  Bytes size(int gradient) const { return setup_.gradients[static_cast<std::size_t>(gradient)]; }
  bool is_ready(int gradient) const { return ready_[static_cast<std::size_t>(gradient)]; }
  bool all_ready() const { return ready_count_ == gradients(); }
  int step() const { return step_; }  // from 0
  void start(CollectiveOrder order);  // its size is the sum of its slices
  GradientSlice whole(int gradient) const { return {gradient, {}, size(gradient)}; }

 private:
  EngineSetup setup_;
  EngineHost& host_;
  int step_ = -1, ready_count_ = 0, unreduced_ = 0;
  std::vector<bool> ready_;
  std::vector<Bytes> left_;  // to be reduced, by gradient
  std::map<int, CollectiveOrder> running_;
};

}  // namespace weft
