// kernels/compression/quantise.hpp on the GPU: the same integers and the same bits back. What did not fit is added to *overflowed, in
// device memory, so that nobody has to wait for it.
#pragma once

#include "kernels/compression/quantise.hpp"
#include "kernels/cuda/runtime.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::cuda {

void quantise(DType, FixedPoint, const void* values, std::span<std::int32_t> fixed, std::size_t* overflowed, Stream);
void dequantise(DType, FixedPoint, std::span<const std::int32_t> fixed, void* values, Stream);
void add_saturating(std::span<std::int32_t> into, std::span<const std::int32_t> from, std::size_t* overflowed, Stream);

}  // namespace weft::cuda
