// The compressed all-reduces of one rank's training steps. What is not sent is kept by gradient, so that nothing is lost where an engine
// puts gradients together anew in every step.
#pragma once

#include "collectives/compression/compressor.hpp"
#include "collectives/engines/engine.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace weft {

class CompressedOrders {
 public:
  // `allreduce`: see plan(). Errors are kept dense. Throws InputError with what is wrong with the settings.
  CompressedOrders(CompressionSettings settings, Request allreduce, Rank rank, std::span<const Bytes> gradients, int streams);

  // All ranks, once: they compare their settings. Throws RunError where they differ.
  void meet(Transport& transport);
  // The slices, which lie in `memory`, become the sum of what all ranks sent of them. One call at a time for each stream.
  void reduce(int stream, std::span<const GradientSlice> what, std::span<const ByteSpan> memory, Transport& transport);

  struct Cost {
    std::int64_t sent_bytes = 0;  // by the rank that sends most
    std::int64_t messages = 0;    // of all ranks
  };
  Cost cost(Bytes size);

  // What this rank has kept, by gradient. Only between steps.
  std::span<const std::vector<float>> kept() const { return kept_; }
  // Seconds in kernels since the last call, merges not among them.
  double take_kernel_seconds();

 private:
  // What a stream works with.
  struct Stream {
    std::map<std::int64_t, Compressor> compressors = {};  // by elements
    std::vector<float> values = {}, kept = {};
  };
  Compressor& compressor_for(Stream& stream, std::int64_t elements);
  std::span<float> kept_of(const GradientSlice& slice);

  CompressionSettings settings_;
  Request allreduce_;
  Rank rank_;
  std::vector<std::vector<float>> kept_;
  std::vector<Stream> streams_;
  std::mutex core_, mutex_;
  double kernel_seconds_ = 0;           // under mutex_
  std::map<std::int64_t, Cost> costs_;  // by elements; used by whoever starts orders only
};

}  // namespace weft
