// Data-parallel training for real: every rank computes the gradient of its part of a batch, a compressed all-reduce sums them up, and
// all ranks take the same step. Deterministic by seed, whatever the transport.
#pragma once

#include "collectives/compression/compressor.hpp"
#include "collectives/executors/transport.hpp"
#include "validation/train/digits.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::train {

struct TrainingSettings {
  std::vector<int> hidden = {256};  // none: logistic regression
  CompressionSettings compression = {};
  Request allreduce = {.algorithm = "halving_doubling", .ranks = 4};  // of what is not compressed; its ranks are the ranks
  int epochs = 12;
  int batch = 8;                                               // images of each rank in a step
  std::vector<double> learning_rates = {0.1, 0.03, 0.01};      // each for an equal part of the epochs
  std::vector<double> warm_up = {0.25, 0.0725, 0.015, 0.004};  // shares of elements sent in the first epochs, where more than k
  std::uint64_t seed = 1;                                      // of parameters and order of images
};

// What cannot be trained with these images. Places are the flags of `weft train`.
std::vector<Problem> problems(const TrainingSettings&, const Images& training);

double learning_rate(const TrainingSettings&, int epoch);
// Of this epoch, for a model of so many parameters. Errors in the sketch know no warm-up: more elements than the sketch has columns
// cannot be told from its noise.
Amount density(const TrainingSettings&, int epoch, std::int64_t parameters);

// One epoch, as rank 0 knows it after the last step. Times are measured, all else is the same in every run.
struct Epoch {
  int number = 1;
  double learning_rate = 0;
  std::int64_t k = 0;   // elements sent in a step
  double loss = 0;      // mean over the epoch's images and all ranks
  double accuracy = 0;  // of the test images
  std::int64_t steps = 0;
  std::int64_t bytes_per_step = 0;            // sent by the rank that sends most
  double gradient_s = 0;                      // a step's time in forward and backward
  std::array<double, kernel_count> kernel_s;  // a step's time in each kernel
  double exchange_s = 0;                      // a step's time in exchanges, waiting included
};
using Curve = std::vector<Epoch>;

// This rank's part. Throws RunError where ranks end with different parameters.
Curve train(const TrainingSettings&, const Digits&, Rank, Transport&);

}  // namespace weft::train
