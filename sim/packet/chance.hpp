// Random decisions that depend on the seed, the place and how many were made there before, and on nothing else.
#pragma once

#include "kernels/base/hash.hpp"

#include <cmath>
#include <cstdint>

namespace weft {

class Chance {
 public:
  Chance() = default;
  Chance(std::uint64_t seed, std::uint64_t place) : state_(mixed(seed + golden_ratio * (place + 1))) {}

  // A probability as happens() takes it.
  static std::uint64_t of(double probability) {
    return probability >= 1 ? UINT64_MAX : static_cast<std::uint64_t>(std::ldexp(probability, 64));
  }
  // 0 to n - 1.
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(mixed(state_ += golden_ratio) % static_cast<std::uint64_t>(n)); }
  bool happens(std::uint64_t probability) { return mixed(state_ += golden_ratio) < probability; }

 private:
  std::uint64_t state_ = 0;
};

}  // namespace weft
