#include "kernels/compression/count_sketch_ops.hpp"
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/count_sketch.hpp"
#include "kernels/cuda/reduce.hpp"

#include <algorithm>

namespace weft::cuda {
namespace {

constexpr unsigned threads = 256;

struct Rows {
  int count;
  std::uint32_t columns;
  std::uint64_t seed[SketchShape::max_rows];
};

Rows rows_of(const SketchShape& shape) {
  Rows rows{.count = shape.rows, .columns = static_cast<std::uint32_t>(shape.columns), .seed = {}};
  for (int row = 0; row < shape.rows; ++row) rows.seed[row] = row_seed(shape.seed, row);
  return rows;
}

unsigned blocks_for(std::size_t count) { return static_cast<unsigned>(std::min<std::size_t>((count + threads - 1) / threads, 1u << 20)); }

__global__ void __launch_bounds__(threads)
    insert_kernel(Rows rows, std::uint64_t first, const float* values, std::size_t count, float* table) {
  for (std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x; i < count; i += std::size_t{gridDim.x} * threads) {
    const float value = values[i];
    for (int row = 0; row < rows.count; ++row) {
      const std::uint64_t hash = element_hash(rows.seed[row], first + i);
      atomicAdd(table + std::size_t{rows.columns} * static_cast<std::size_t>(row) + column_of(hash, rows.columns),
                with_sign_of(hash, value));
    }
  }
}

// Room for `most` rows, known when compiling so that they stay in registers; those that are not there sort to the end.
template <int most>
__global__ void __launch_bounds__(threads)
    estimate_kernel(Rows rows, const float* table, std::uint64_t first, float* values, std::size_t count) {
  for (std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x; i < count; i += std::size_t{gridDim.x} * threads) {
    float estimate[most];
#pragma unroll
    for (int row = 0; row < most; ++row) {
      estimate[row] = std::bit_cast<float>(0x7f800000u);
      if (row >= rows.count) continue;
      const std::uint64_t hash = element_hash(rows.seed[row], first + i);
      const float counter = table[std::size_t{rows.columns} * static_cast<std::size_t>(row) + column_of(hash, rows.columns)];
      estimate[row] = with_sign_of(hash, counter);
    }
#pragma unroll
    for (int a = 0; a < most; ++a)
#pragma unroll
      for (int b = a + 1; b < most; ++b) put_in_order(estimate[a], estimate[b]);
    float below = 0, above = 0;
#pragma unroll
    for (int row = 0; row < most; ++row) {
      if (row == (rows.count - 1) / 2) below = estimate[row];
      if (row == rows.count / 2) above = estimate[row];
    }
    values[i] = rows.count % 2 == 1 ? below : 0.5f * (below + above);
  }
}

}  // namespace

void sketch_insert(const SketchShape& shape, std::uint64_t first, std::span<const float> values, std::span<float> table, Stream stream) {
  check_shape(shape, table.size());
  if (values.empty()) return;
  insert_kernel<<<blocks_for(values.size()), threads, 0, stream>>>(rows_of(shape), first, values.data(), values.size(), table.data());
  check_launch("sketch_insert");
}

void sketch_merge(std::span<float> into, std::span<const float> from, Stream stream) {
  check(into.size() == from.size(), "a sketch of {} counters merged into one of {}", from.size(), into.size());
  reduce(DType::float32, ReduceOp::sum, into.data(), from.data(), into.size(), stream);
}

void sketch_estimate(const SketchShape& shape, std::span<const float> table, std::uint64_t first, std::span<float> values, Stream stream) {
  check_shape(shape, table.size());
  if (values.empty()) return;
  const auto kernel = shape.rows <= 5 ? estimate_kernel<5> : shape.rows <= 9 ? estimate_kernel<9> : estimate_kernel<SketchShape::max_rows>;
  kernel<<<blocks_for(values.size()), threads, 0, stream>>>(rows_of(shape), table.data(), first, values.data(), values.size());
  check_launch("sketch_estimate");
}

}  // namespace weft::cuda
