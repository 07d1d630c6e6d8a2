// kernels/compression/count_sketch.hpp on the GPU: the same bits.
#pragma once

#include "kernels/compression/count_sketch.hpp"
#include "kernels/cuda/runtime.hpp"

#include <cstdint>
#include <span>

namespace weft::cuda {

void sketch_insert(const SketchShape&, std::uint64_t first, std::span<const float> values, std::span<float> table, Stream);
void sketch_merge(std::span<float> into, std::span<const float> from, Stream);
void sketch_estimate(const SketchShape&, std::span<const float> table, std::uint64_t first, std::span<float> values, Stream);

}  // namespace weft::cuda
