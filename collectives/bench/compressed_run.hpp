// One rank's compressed all-reduces in a benchmark, and the proof that none of the gradient was lost.
#pragma once

#include "collectives/bench/settings/settings.hpp"
#include "collectives/compression/compressor.hpp"
#include "collectives/executors/blocking.hpp"

#include <span>
#include <string>

namespace weft::bench {

class CompressedRun {
 public:
  CompressedRun(const Settings&, const std::string& algorithm, Rank rank, std::int64_t elements);

  // `buffer` becomes the sum of what all ranks sent.
  void run(const Buffer& buffer, Transport& transport);
  std::span<const float> kept() const { return compressor_.kept(); }
  // Adds to it what all ranks have kept, so that it is the sum of their gradients; after one run from the beginning. `kept` is empty where
  // nothing is.
  void add_kept(std::span<const float> kept, const Buffer& buffer, Transport& transport);

 private:
  Compressor compressor_;
  ExchangeRun sum_;
};

}  // namespace weft::bench
