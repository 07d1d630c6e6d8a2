// Count sketch (Charikar, Chen & Farach-Colton 2002): a vector of any length folded into rows x columns counters, from which
// its large elements can be read back. Linear: the sketch of a sum is the sum of the sketches, so sketches are reduced
// like any other float32 message (gs-SGD, Sketched-SGD).
//
// Each row adds every element, with a sign, to one column; both are hashes of row, index and seed. An estimate is the
// median over rows of the counters with the sign undone: with c columns each row is off by about |v|_2 / sqrt(c).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft {

struct SketchShape {
  int rows = 5;     // 1 to max_rows; odd is best, an even number takes the mean of the two in the middle
  int columns = 1;  // at least 1
  std::uint64_t seed = 0;

  static constexpr int max_rows = 31;
  std::size_t counters() const { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns); }
};

// values[i] is element first + i of the sketched vector. `table` holds counters() of the shape, row by row, and is added
// to: start from zeros. What one call adds to a counter is summed as integers, exactly but for at most 2^-29 (2^-42 for a million values)
// of the largest value for each value, and rounded once: the same bits on every machine, whatever it does at once. What is not finite
// makes its counters infinite or NaN.
void sketch_insert(const SketchShape&, std::uint64_t first, std::span<const float> values, std::span<float> table);

// The sketch of the sum. Both have the same shape and seed.
void sketch_merge(std::span<float> into, std::span<const float> from);

// Element first + i, for every i.
void sketch_estimate(const SketchShape&, std::span<const float> table, std::uint64_t first, std::span<float> values);

}  // namespace weft
