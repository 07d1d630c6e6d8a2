#include "kernels/compression/count_sketch.hpp"

#include "kernels/compression/count_sketch_ops.hpp"
#include "kernels/reduce.hpp"
#include "kernels/simd.hpp"

#include <algorithm>
#include <array>

namespace weft {
namespace {

// Hashes are computed for a block of elements at a time, by vector instructions; the scattered additions and the gathers
// that follow are not.
constexpr std::size_t block = 512;

struct Columns {
  std::array<std::uint32_t, block> column;
  std::array<std::uint32_t, block> sign;  // 0 or the sign bit
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

using Estimates = std::array<std::array<float, block>, SketchShape::max_rows>;

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
  Columns columns;
  // Row after row: reading the values again costs less than scattering over more counters than fit into the cache.
  for (int row = 0; row < shape.rows; ++row) {
    float* counters = table.data() + static_cast<std::size_t>(row) * static_cast<std::size_t>(shape.columns);
    for (std::size_t begin = 0; begin < values.size(); begin += block) {
      const std::size_t count = std::min(block, values.size() - begin);
      hash_columns(shape, row, first + begin, count, columns);
      for (std::size_t i = 0; i < count; ++i) counters[columns.column[i]] += flipped(values[begin + i], columns.sign[i]);
    }
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
  for (std::size_t begin = 0; begin < values.size(); begin += block) {
    const std::size_t count = std::min(block, values.size() - begin);
    for (int row = 0; row < shape.rows; ++row) {
      hash_columns(shape, row, first + begin, count, columns);
      const float* counters = table.data() + static_cast<std::size_t>(row) * static_cast<std::size_t>(shape.columns);
      for (std::size_t i = 0; i < count; ++i) estimates[row][i] = flipped(counters[columns.column[i]], columns.sign[i]);
    }
    medians(estimates, shape.rows, count, values.data() + begin);
  }
}

}  // namespace weft
