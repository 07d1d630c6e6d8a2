// kernels/compression/top_k.hpp on the GPU: the same entries in the same order.
#pragma once

#include "kernels/compression/top_k.hpp"
#include "kernels/cuda/runtime.hpp"

#include <span>

namespace weft::cuda {

void top_k(std::span<const float> values, std::span<Entry> largest, Stream);

}  // namespace weft::cuda
