// A multilayer perceptron with ReLU between its layers and softmax with cross-entropy at its end; without hidden layers it is
// logistic regression. Parameters and gradient are one vector each, layer by layer: weights (outputs x inputs, by column), bias.
#pragma once

#include "collectives/compression/compressor.hpp"
#include "validation/train/digits.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace weft::train {

class Model {
 public:
  // The same parameters for the same seed, on every machine.
  Model(const std::vector<int>& hidden, std::uint64_t seed);

  std::int64_t size() const { return static_cast<std::int64_t>(parameters_.size()); }
  std::vector<TensorShape> tensors() const;
  std::span<float> parameters() { return parameters_; }
  std::span<const float> parameters() const { return parameters_; }

  // The mean loss of these images, and its gradient. The order of additions is one for all machines.
  double gradient(const Images&, std::span<const std::uint32_t> which, std::span<float> out) const;
  // The share of the images whose class is found.
  double accuracy(const Images&) const;

 private:
  std::vector<int> widths_;  // inputs, hidden layers, classes
  std::vector<float> parameters_;
};

}  // namespace weft::train
