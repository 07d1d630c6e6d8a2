#include "kernels/compression/count_sketch_ops.hpp"
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/count_sketch.hpp"
#include "kernels/cuda/reduce.hpp"
#include "kernels/finite_ops.hpp"

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

struct Insertion {
  Rows rows;
  std::uint64_t first;
  const float* values;
  std::size_t count;

  __device__ std::size_t place(int row, std::uint64_t hash) const {
    return std::size_t{rows.columns} * static_cast<std::size_t>(row) + column_of(hash, rows.columns);
  }
};

using Sum = unsigned long long;  // of signed units, modulo 2^64

constexpr unsigned each = 4;               // values of a thread that are asked for before the first is used
constexpr std::size_t max_private = 4096;  // counters of a row that a block keeps for itself: 32 KiB

unsigned blocks_for(std::size_t count) { return static_cast<unsigned>(std::min<std::size_t>((count + threads - 1) / threads, 1u << 20)); }

// Calls act(i, value) for this thread's share of what `parts` blocks have together.
template <class Act>
__device__ void for_values(const Insertion& in, unsigned part, unsigned parts, Act act) {
  const std::size_t stride = std::size_t{parts} * (threads * each);
  for (std::size_t begin = std::size_t{part} * (threads * each) + threadIdx.x; begin < in.count; begin += stride) {
    float value[each];
#pragma unroll
    for (unsigned u = 0; u < each; ++u) value[u] = begin + u * threads < in.count ? in.values[begin + u * threads] : 0.0f;
#pragma unroll
    for (unsigned u = 0; u < each; ++u)
      if (begin + u * threads < in.count) act(begin + u * threads, value[u]);
  }
}

__global__ void __launch_bounds__(threads) largest_kernel(Insertion in, std::uint32_t* largest) {
  __shared__ std::uint32_t here;
  if (threadIdx.x == 0) here = 0;
  __syncthreads();
  std::uint32_t mine = 0;
  for_values(in, blockIdx.x, gridDim.x, [&](std::size_t, float value) {
    const std::uint32_t magnitude = finite_magnitude(value);
    mine = magnitude > mine ? magnitude : mine;
  });
  atomicMax(&here, mine);
  __syncthreads();
  if (threadIdx.x == 0) atomicMax(largest, here);
}

// Infinities and NaNs leave the same whenever they are added; they are few.
__device__ void add_infinite(const Insertion& in, std::size_t place, std::uint64_t hash, float value, float* table) {
  if (nonfinite_bit(value) != 0) atomicAdd(table + place, with_sign_of(hash, value));
}

__global__ void __launch_bounds__(threads) insert_kernel(Insertion in, const std::uint32_t* largest, Sum* sums, float* table) {
  const SketchUnit unit(*largest, in.count);
  for_values(in, blockIdx.x, gridDim.x, [&](std::size_t i, float value) {
    const float finite = finite_part(value);
    for (int row = 0; row < in.rows.count; ++row) {
      const std::uint64_t hash = element_hash(in.rows.seed[row], in.first + i);
      const std::size_t place = in.place(row, hash);
      if (finite != 0) atomicAdd(sums + place, static_cast<Sum>(unit.units(with_sign_of(hash, finite))));
      add_infinite(in, place, hash, value, table);
    }
  });
}

// The two halves of a sum: shared memory adds 32 bits by one instruction, and 64 by trying again and again.
__device__ void add_halves(unsigned* low, unsigned* high, std::int64_t units) {
  const auto lower = static_cast<unsigned>(units);
  auto upper = static_cast<unsigned>(static_cast<Sum>(units) >> 32);
  if (lower != 0 && atomicAdd(low, lower) > ~lower) ++upper;  // it has wrapped: whoever sees that carries
  if (upper != 0) atomicAdd(high, upper);
}

// Each block has one row, whose sums are its own until the end.
__global__ void __launch_bounds__(threads) insert_private_kernel(Insertion in, const std::uint32_t* largest, Sum* sums, float* table) {
  __shared__ unsigned low[max_private], high[max_private];
  for (unsigned c = threadIdx.x; c < in.rows.columns; c += threads) low[c] = high[c] = 0;
  __syncthreads();
  const SketchUnit unit(*largest, in.count);
  const unsigned rows = static_cast<unsigned>(in.rows.count), row = blockIdx.x % rows;
  for_values(in, blockIdx.x / rows, gridDim.x / rows, [&](std::size_t i, float value) {
    const std::uint64_t hash = element_hash(in.rows.seed[row], in.first + i);
    const std::uint32_t column = column_of(hash, in.rows.columns);
    add_halves(low + column, high + column, unit.units(with_sign_of(hash, finite_part(value))));
    add_infinite(in, in.place(static_cast<int>(row), hash), hash, value, table);
  });
  __syncthreads();
  for (unsigned c = threadIdx.x; c < in.rows.columns; c += threads)
    if (const Sum sum = Sum{high[c]} << 32 | low[c]; sum != 0) atomicAdd(sums + std::size_t{in.rows.columns} * row + c, sum);
}

__global__ void __launch_bounds__(threads)
    add_sums_kernel(const Sum* sums, std::size_t counters, const std::uint32_t* largest, std::size_t count, float* table) {
  const SketchUnit unit(*largest, count);
  for (std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x; i < counters; i += std::size_t{gridDim.x} * threads)
    if (sums[i] != 0) table[i] += unit.value(static_cast<std::int64_t>(sums[i]));
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
  const Insertion in{.rows = rows_of(shape), .first = first, .values = values.data(), .count = values.size()};
  const Scratch sums(table.size() * sizeof(Sum), stream), largest(sizeof(std::uint32_t), stream);
  auto* const most = largest.as<std::uint32_t>();
  zero(most, sizeof(std::uint32_t), stream);
  zero(sums.as<void>(), table.size() * sizeof(Sum), stream);
  const unsigned blocks = blocks_for((values.size() + each - 1) / each);
  // Enough to fill any device, and few enough that a block takes in far more than it gives out in the end.
  const unsigned parts = std::min(blocks, 1 + 1024u / static_cast<unsigned>(shape.rows));
  largest_kernel<<<std::min(blocks, 2048u), threads, 0, stream>>>(in, most);
  check_launch("sketch_insert: largest");
  if (in.rows.columns <= max_private)
    insert_private_kernel<<<parts* static_cast<unsigned>(shape.rows), threads, 0, stream>>>(in, most, sums.as<Sum>(), table.data());
  else
    insert_kernel<<<blocks, threads, 0, stream>>>(in, most, sums.as<Sum>(), table.data());
  check_launch("sketch_insert");
  add_sums_kernel<<<blocks_for(table.size()), threads, 0, stream>>>(sums.as<Sum>(), table.size(), most, values.size(), table.data());
  check_launch("sketch_insert: sums");
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
