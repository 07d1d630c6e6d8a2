// The kernels as the tests call them: on host memory, wherever they run. Cases are written once, for every backend.
#pragma once

#include "kernels/bit_vector.hpp"
#include "kernels/compression/count_sketch.hpp"
#include "kernels/compression/quantise.hpp"
#include "kernels/compression/sparse.hpp"
#include "kernels/compression/top_k.hpp"
#include "kernels/dtype.hpp"
#include "kernels/finite.hpp"
#include "kernels/pack.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft::test {

struct Backend {
  std::string name;
  void (*reduce_into)(DType, ReduceOp, void* out, const void* a, const void* b, std::size_t count);
  void (*reduce_many)(DType, ReduceOp, void* out, std::span<const void* const> in, std::size_t count);
  void (*scale_average)(DType, void* data, std::size_t count, int ranks);
  std::size_t (*quantise)(DType, FixedPoint, const void* values, std::span<std::int32_t> fixed);
  void (*dequantise)(DType, FixedPoint, std::span<const std::int32_t> fixed, void* values);
  std::size_t (*add_saturating)(std::span<std::int32_t> into, std::span<const std::int32_t> from);
  void (*pack)(std::span<const ConstPiece>, std::span<std::byte> buffer);
  void (*unpack)(std::span<const std::byte> buffer, std::span<const Piece>);
  void (*bit_min)(std::span<std::uint64_t> into, std::span<const std::uint64_t> from);
  NonFinite (*count_nonfinite)(DType, const void* values, std::size_t count);
  void (*sketch_insert)(const SketchShape&, std::uint64_t first, std::span<const float> values, std::span<float> table);
  void (*sketch_estimate)(const SketchShape&, std::span<const float> table, std::uint64_t first, std::span<float> values);
  void (*top_k)(std::span<const float> values, std::span<Entry> largest);
  void (*sort_by_index)(std::span<Entry>);
  void (*gather)(std::span<const float> values, std::span<const std::uint32_t> indices, std::span<float> out);
  void (*scatter)(std::span<const std::uint32_t> indices, std::span<const float> values, std::span<float> into);
  void (*scatter_add)(std::span<const Entry>, std::span<float> into);  // each index once
  void (*merge_top_k)(std::span<Entry> into, std::span<const Entry> from, std::vector<Entry>& dropped);
};

// The CPU, and CUDA where it was built and there is a device.
std::span<const Backend> backends();

// Why there is no CUDA among them; empty when there is.
std::string cuda_missing();

}  // namespace weft::test
