// Random decisions that depend on the seed, the place and how many were made there before, and on nothing else.
#pragma once

#include <cmath>
#include <cstdint>

namespace weft {

class Chance {
 public:
  Chance() = default;
  Chance(std::uint64_t seed, std::uint64_t place) : state_(mixed(seed + golden * (place + 1))) {}

  // A probability as happens() takes it.
  static std::uint64_t of(double probability) {
    return probability >= 1 ? UINT64_MAX : static_cast<std::uint64_t>(std::ldexp(probability, 64));
  }
  bool happens(std::uint64_t probability) { return mixed(state_ += golden) < probability; }

 private:
  static constexpr std::uint64_t golden = 0x9E3779B97F4A7C15ull;
  // The finaliser of SplitMix64 (Steele, Lea & Flood 2014).
  static std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
  }
  std::uint64_t state_ = 0;
};

}  // namespace weft
