#include "collectives/engines/engine_base.hpp"

namespace weft {

EngineBase::EngineBase(const EngineSetup& setup, EngineHost& host) : setup_(setup), host_(host) {
  check(!setup.gradients.empty(), "an engine without gradients");
  for (const Bytes size : setup.gradients) check(size.count > 0, "a gradient of {}", to_string(size));
}

void EngineBase::begin_step() {
  check(idle(), "rank {}: step {} begins before the one before has ended: {}", setup_.rank, step_ + 1, waiting());
  ++step_;
  ready_count_ = 0;
  unreduced_ = gradients();
  ready_.assign(setup_.gradients.size(), false);
  left_ = setup_.gradients;
  on_begin();
}

void EngineBase::gradient_ready(int gradient) {
  check(gradient >= 0 && gradient < gradients() && step_ >= 0 && !is_ready(gradient), "gradient {} is ready twice or does not exist",
        gradient);
  ready_[static_cast<std::size_t>(gradient)] = true;
  ++ready_count_;
  on_ready(gradient);
}

void EngineBase::backward_ended() {
  check(all_ready(), "backward has ended with {} of {} gradients", ready_count_, gradients());
  on_backward_ended();
}

void EngineBase::received(Rank from, std::span<const std::byte>) {
  check(false, "a message from rank {} to an engine that sends none", from);
}

void EngineBase::start(CollectiveOrder order) {
  order.size = {};
  for (const GradientSlice& s : order.what) order.size += s.size;
  const auto [at, fresh] = running_.emplace(order.id, std::move(order));
  check(fresh, "order {} runs already", at->first);
  host_.start(at->second);
}

void EngineBase::ended(int id) {
  const auto at = running_.find(id);
  check(at != running_.end(), "rank {}: order {} ended and does not run", setup_.rank, id);
  const CollectiveOrder order = std::move(at->second);
  running_.erase(at);
  for (const GradientSlice& s : order.what) {
    Bytes& left = left_[static_cast<std::size_t>(s.gradient)];
    check(left >= s.size, "gradient {} is reduced twice", s.gradient);
    left = left - s.size;
    if (left.count > 0) continue;
    --unreduced_;
    host_.gradient_reduced(s.gradient);
  }
}

std::string EngineBase::waiting() const {
  if (idle()) return "waits for no all-reduce";
  if (!running_.empty()) {
    const CollectiveOrder& first = running_.begin()->second;
    return fmt::format("waits for {} all-reduce(s) to end, the first: {}", running_.size(), first.label);
  }
  if (!all_ready()) return fmt::format("waits for {} of its own {} gradients", gradients() - ready_count_, gradients());
  return fmt::format("has {} gradients to reduce", unreduced_);
}

}  // namespace weft
