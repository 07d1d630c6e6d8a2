// Sums of shares as numbers: what verify.hpp adds up where a run would add data.
#pragma once

#include "collectives/schedule/conditions.hpp"
#include "kernels/base/hash.hpp"

#include <cstdint>
#include <vector>

namespace weft {

// Two numbers modulo 2^64 that stand for what a chunk holds. All zero is "nothing".
struct Fingerprint {
  std::uint64_t low = 0, high = 0;
  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
  Fingerprint& operator+=(const Fingerprint& other) { return low += other.low, high += other.high, *this; }
  friend Fingerprint operator*(const Fingerprint& a, const Fingerprint& b) { return {a.low * b.low, a.high * b.high}; }
  friend Fingerprint operator-(const Fingerprint& a, const Fingerprint& b) { return {a.low - b.low, a.high - b.high}; }
  bool empty() const { return low == 0 && high == 0; }
};

inline Fingerprint random_fingerprint(std::uint64_t kind, std::uint64_t i) {
  const std::uint64_t id = kind << 48 | i;
  return {mixed(golden_ratio + id), mixed(golden_ratio + ~id)};
}

// A rank's share has one random fingerprint in whichever chunk it began: neighbouring chunks that hold the shares of the same
// ranks hold the same. Moved by d chunks it is multiplied by the d-th power of an odd random number, so that a share out of
// place is told from one in place.
class Shares {
 public:
  explicit Shares(const Schedule& s) : total_(s.all_chunks()) {
    for (int r = 0; r < s.ranks; ++r) {
      of_rank_.push_back(odd(random_fingerprint(0, static_cast<std::uint64_t>(r))));
      if (r < s.workers()) everyone_ += of_rank_.back();
    }
    const Fingerprint base = odd(random_fingerprint(1, 0));
    fill(near_, {1, 1}, base, 1 << near_bits);
    const Fingerprint stride = near_.back() * base;
    Fingerprint first{1, 1};
    for (int i = 0; i <= total_ >> near_bits; ++i) first = first * inverse(stride);
    fill(far_, first, stride, 2 * ((total_ >> near_bits) + 1));
  }

  Fingerprint of(Rank rank) const { return rank == Content::everyone ? everyone_ : of_rank_[static_cast<std::size_t>(rank)]; }

  // For what lies `distance` chunks behind the place where it began.
  Fingerprint moved(int distance) const {
    const int from_least = distance + (((total_ >> near_bits) + 1) << near_bits);
    return far_[static_cast<std::size_t>(from_least >> near_bits)] * near_[static_cast<std::size_t>(from_least & ((1 << near_bits) - 1))];
  }

 private:
  static constexpr int near_bits = 10;

  static Fingerprint odd(const Fingerprint& f) { return {f.low | 1, f.high | 1}; }
  static std::uint64_t inverse(std::uint64_t odd) {
    std::uint64_t x = odd;  // right in 3 bits; each round doubles them (Newton)
    for (int round = 0; round < 5; ++round) x *= 2 - odd * x;
    return x;
  }
  static Fingerprint inverse(const Fingerprint& f) { return {inverse(f.low), inverse(f.high)}; }
  static void fill(std::vector<Fingerprint>& powers, Fingerprint first, const Fingerprint& base, int count) {
    for (int i = 0; i < count; ++i, first = first * base) powers.push_back(first);
  }

  int total_;
  std::vector<Fingerprint> of_rank_;
  Fingerprint everyone_;
  std::vector<Fingerprint> near_, far_;  // powers by 1 and by 2^near_bits; the middle of far_ is the zeroth
};

}  // namespace weft
