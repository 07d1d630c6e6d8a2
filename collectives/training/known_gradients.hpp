// Gradients of one rank of a real run: small whole numbers, which float32 adds exactly, so that every sum is known.
#pragma once

#include "collectives/engines/engine.hpp"
#include "collectives/executors/transport.hpp"

#include <set>
#include <span>
#include <vector>

namespace weft {

class KnownGradients {
 public:
  KnownGradients(std::span<const Bytes> sizes, Rank rank, int ranks);

  ByteSpan slice(const GradientSlice& slice);
  void fill(int step);
  // After the step: each is among `reduced`, and is the sum over the ranks. Throws RunError with the first that is not.
  void check_sums(int step, const std::set<int>& reduced) const;

  // Where not all is sent at once, from the next step on: what came of each step is added up.
  void add_up_from(int step);
  void add_up(int step, const std::set<int>& reduced);
  // After the last step that was added up: with what all ranks have kept, by gradient, it is the sum of all gradients of all ranks. Throws
  // RunError with the first element that is not.
  void check_nothing_lost(std::span<const std::vector<float>> kept_by_all) const;

 private:
  void require_reduced(int step, const std::set<int>& reduced) const;

  std::vector<std::vector<float>> memory_, sent_;
  Rank rank_;
  int ranks_;
  int first_step_ = 0, steps_ = 0;
};

}  // namespace weft
