// Runs that differ in their seeds only, together.
#pragma once

#include "validation/train/report.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace weft::train {

// Whatever the seed.
inline bool same_compression(CompressionSettings a, const CompressionSettings& b) {
  a.seed = b.seed;
  return a == b;
}

// The runs of each compression, in the order of the first of each.
inline std::vector<std::vector<const Run*>> by_compression(const std::vector<Run>& runs) {
  std::vector<std::vector<const Run*>> out;
  for (const Run& run : runs) {
    const auto same = std::find_if(out.begin(), out.end(), [&](const auto& group) {
      return same_compression(group.front()->settings.compression, run.settings.compression);
    });
    (same == out.end() ? out.emplace_back() : *same).push_back(&run);
  }
  return out;
}

struct Spread {
  double mean = 0, least = 0, most = 0;
};

template <class Value>
Spread spread_of(const std::vector<const Run*>& runs, Value value) {
  Spread out{.mean = 0, .least = INFINITY, .most = -INFINITY};
  for (const Run* run : runs) {
    const double v = value(*run);
    out.mean += v / static_cast<double>(runs.size());
    out.least = std::min(out.least, v);
    out.most = std::max(out.most, v);
  }
  return out;
}

// The first epoch with this accuracy.
inline std::optional<std::size_t> reached(const Run& run, double target) {
  const auto at = std::find_if(run.curve.begin(), run.curve.end(), [&](const Epoch& e) { return e.accuracy >= target; });
  if (at == run.curve.end()) return std::nullopt;
  return static_cast<std::size_t>(at - run.curve.begin());
}

}  // namespace weft::train
