#include "kernels/compression/count_sketch.hpp"

#include "kernels/compression/count_sketch_ops.hpp"
#include "kernels/finite_ops.hpp"
#include "kernels/reduce.hpp"
#include "kernels/simd.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace weft {
namespace {

// Hashes are computed for a block of elements at a time, by vector instructions; the scattered additions and the gathers
// that follow are not.
constexpr std::size_t hash_block = 512;

struct Columns {
  std::array<std::uint32_t, hash_block> column;
  std::array<std::uint32_t, hash_block> sign;  // 0 or the sign bit
};

void hash_columns(const SketchShape& shape, int row, std::uint64_t first, std::size_t count, Columns& out) {
  vectorised([count, first, seed = row_seed(shape.seed, row), columns = static_cast<std::uint32_t>(shape.columns),
              column = out.column.data(), sign = out.sign.data()]() WEFT_INLINE {
    WEFT_INDEPENDENT
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t hash = element_hash(seed, first + i);
      column[i] = column_of(hash, columns);
      sign[i] = static_cast<std::uint32_t>(hash) << 31;
    }
  });
}

float flipped(float value, std::uint32_t sign) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ sign); }

struct Largest {
  std::uint32_t finite = 0;  // the bits of the largest finite magnitude
  bool all_finite = true;
};
Largest largest_of(std::span<const float> values) {
  Largest out;
  vectorised([data = values.data(), count = values.size(), out = &out]() WEFT_INLINE {
    std::uint32_t finite = 0, all = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t magnitude = magnitude_bits(data[i]), f = finite_magnitude(data[i]);
      finite = f > finite ? f : finite;
      all = magnitude > all ? magnitude : all;
    }
    *out = {.finite = finite, .all_finite = finite == all};
  });
  return out;
}

// What one row takes in.
struct Part {
  const SketchShape& shape;
  int row;
  std::uint64_t first;
  std::span<const float> values;
};

// The units of a block's elements, with the sign that the row gives each.
void signed_units(const Columns& columns, const float* values, std::size_t count, SketchUnit unit, std::int64_t* out) {
  vectorised([=, sign = columns.sign.data()]() WEFT_INLINE {
    WEFT_INDEPENDENT
    for (std::size_t i = 0; i < count; ++i)
      out[i] = unit.units(std::bit_cast<float>(std::bit_cast<std::uint32_t>(finite_part(values[i])) ^ sign[i]));
  });
}

void add_finite(const Part& part, SketchUnit unit, std::span<float> counters) {
  Columns columns;
  std::array<std::int64_t, hash_block> units;
  if (part.values.size() == 1) {  // its units are its value
    hash_columns(part.shape, part.row, part.first, 1, columns);
    counters[columns.column[0]] += flipped(part.values[0], columns.sign[0]);
    return;
  }
  std::vector<std::int64_t> sums(counters.size());
  for (std::size_t begin = 0; begin < part.values.size(); begin += hash_block) {
    const std::size_t count = std::min(hash_block, part.values.size() - begin);
    hash_columns(part.shape, part.row, part.first + begin, count, columns);
    signed_units(columns, part.values.data() + begin, count, unit, units.data());
    for (std::size_t i = 0; i < count; ++i) sums[columns.column[i]] += units[i];
  }
  for (std::size_t c = 0; c < counters.size(); ++c)
    if (sums[c] != 0) counters[c] += unit.value(sums[c]);
}

void add_infinite(const Part& part, std::span<float> counters) {
  for (std::size_t i = 0; i < part.values.size(); ++i) {
    if (nonfinite_bit(part.values[i]) == 0) continue;
    Columns columns;
    hash_columns(part.shape, part.row, part.first + i, 1, columns);
    counters[columns.column[0]] += flipped(part.values[i], columns.sign[0]);
  }
}

using Estimates = std::array<std::array<float, hash_block>, SketchShape::max_rows>;

// Sorts the rows of every column, and leaves the medians in `out`.
void medians(Estimates& estimates, int rows, std::size_t count, float* out) {
  vectorised([=, e = estimates.data()]() WEFT_INLINE {
    for (int a = 0; a < rows; ++a)
      for (int b = a + 1; b < rows; ++b) {
        float* low = e[a].data();
        float* high = e[b].data();
        WEFT_INDEPENDENT
        for (std::size_t i = 0; i < count; ++i) put_in_order(low[i], high[i]);
      }
    const float* below = e[(rows - 1) / 2].data();
    const float* above = e[rows / 2].data();
    for (std::size_t i = 0; i < count; ++i) out[i] = rows % 2 == 1 ? below[i] : 0.5f * (below[i] + above[i]);
  });
}

}  // namespace

void sketch_insert(const SketchShape& shape, std::uint64_t first, std::span<const float> values, std::span<float> table) {
  check_shape(shape, table.size());
  const Largest largest = largest_of(values);
  const SketchUnit unit(largest.finite, values.size());
  // Row after row: reading the values again costs less than scattering over more counters than fit into the cache.
  for (int row = 0; row < shape.rows; ++row) {
    const std::span<float> counters =
        table.subspan(static_cast<std::size_t>(row) * static_cast<std::size_t>(shape.columns), static_cast<std::size_t>(shape.columns));
    const Part part{.shape = shape, .row = row, .first = first, .values = values};
    if (largest.finite > 0) add_finite(part, unit, counters);
    if (!largest.all_finite) add_infinite(part, counters);
  }
}

void sketch_merge(std::span<float> into, std::span<const float> from) {
  check(into.size() == from.size(), "a sketch of {} counters merged into one of {}", from.size(), into.size());
  reduce(DType::float32, ReduceOp::sum, into.data(), from.data(), into.size());
}

void sketch_estimate(const SketchShape& shape, std::span<const float> table, std::uint64_t first, std::span<float> values) {
  check_shape(shape, table.size());
  Columns columns;
  Estimates estimates;
  for (std::size_t begin = 0; begin < values.size(); begin += hash_block) {
    const std::size_t count = std::min(hash_block, values.size() - begin);
    for (int row = 0; row < shape.rows; ++row) {
      hash_columns(shape, row, first + begin, count, columns);
      const float* counters = table.data() + static_cast<std::size_t>(row) * static_cast<std::size_t>(shape.columns);
      for (std::size_t i = 0; i < count; ++i) estimates[row][i] = flipped(counters[columns.column[i]], columns.sign[i]);
    }
    medians(estimates, shape.rows, count, values.data() + begin);
  }
}

}  // namespace weft
