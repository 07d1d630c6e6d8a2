// kernels/bit_vector.hpp on the GPU.
#pragma once

#include "kernels/cuda/runtime.hpp"

#include <cstdint>
#include <span>

namespace weft::cuda {

void bit_min(std::span<std::uint64_t> into, std::span<const std::uint64_t> from, Stream);

}  // namespace weft::cuda
