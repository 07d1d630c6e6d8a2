#include "collectives/training/known_gradients.hpp"

#include "kernels/base/error.hpp"

namespace weft {
namespace {

int value_of(int step, std::size_t gradient, std::size_t element) {
  return static_cast<int>((element * 7 + gradient * 13 + static_cast<std::size_t>(step) * 5) & 15);
}
float own_value(int step, std::size_t gradient, std::size_t element, Rank rank) {
  return static_cast<float>(value_of(step, gradient, element) + rank);
}
float sum_of(int step, std::size_t gradient, std::size_t element, int ranks) {
  return static_cast<float>(ranks * value_of(step, gradient, element) + ranks * (ranks - 1) / 2);
}

}  // namespace

KnownGradients::KnownGradients(std::span<const Bytes> sizes, Rank rank, int ranks) : rank_(rank), ranks_(ranks) {
  for (const Bytes size : sizes) memory_.emplace_back(static_cast<std::size_t>(size.count) / sizeof(float));
}

ByteSpan KnownGradients::slice(const GradientSlice& slice) {
  return std::as_writable_bytes(std::span(memory_[static_cast<std::size_t>(slice.gradient)]))
      .subspan(static_cast<std::size_t>(slice.offset.count), static_cast<std::size_t>(slice.size.count));
}

void KnownGradients::fill(int step) {
  for (std::size_t g = 0; g < memory_.size(); ++g)
    for (std::size_t i = 0; i < memory_[g].size(); ++i) memory_[g][i] = own_value(step, g, i, rank_);
}

void KnownGradients::require_reduced(int step, const std::set<int>& reduced) const {
  for (std::size_t g = 0; g < memory_.size(); ++g)
    if (!reduced.contains(static_cast<int>(g)))
      throw RunError(fmt::format("rank {}: gradient {} was not reduced in step {}", rank_, g, step));
}

void KnownGradients::check_sums(int step, const std::set<int>& reduced) const {
  require_reduced(step, reduced);
  for (std::size_t g = 0; g < memory_.size(); ++g)
    for (std::size_t i = 0; i < memory_[g].size(); ++i)
      if (const float wanted = sum_of(step, g, i, ranks_); memory_[g][i] != wanted)
        throw RunError(
            fmt::format("rank {}: gradient {}, element {} of step {}: is {}, should be {}", rank_, g, i, step, memory_[g][i], wanted));
}

void KnownGradients::add_up_from(int step) {
  sent_.clear();
  for (const std::vector<float>& of_gradient : memory_) sent_.emplace_back(of_gradient.size());
  first_step_ = step;
  steps_ = 0;
}

void KnownGradients::add_up(int step, const std::set<int>& reduced) {
  check(step == first_step_ + steps_, "step {} is added up behind {} steps from {} on", step, steps_, first_step_);
  require_reduced(step, reduced);
  for (std::size_t g = 0; g < memory_.size(); ++g)
    for (std::size_t i = 0; i < memory_[g].size(); ++i) sent_[g][i] += memory_[g][i];
  ++steps_;
}

void KnownGradients::check_nothing_lost(std::span<const std::vector<float>> kept_by_all) const {
  for (std::size_t g = 0; g < sent_.size(); ++g)
    for (std::size_t i = 0; i < sent_[g].size(); ++i) {
      float wanted = 0;
      for (int step = first_step_; step < first_step_ + steps_; ++step) wanted += sum_of(step, g, i, ranks_);
      if (sent_[g][i] + kept_by_all[g][i] != wanted)
        throw RunError(fmt::format("rank {}: gradient {}, element {}: in {} steps {} was sent and {} is kept, which should add up to {}",
                                   rank_, g, i, steps_, sent_[g][i], kept_by_all[g][i], wanted));
    }
}

}  // namespace weft
