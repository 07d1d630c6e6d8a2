// kernels/finite.hpp on the GPU. What is found is added to *found, in device memory.
#pragma once

#include "kernels/cuda/runtime.hpp"
#include "kernels/finite.hpp"

#include <cstddef>

namespace weft::cuda {

void count_nonfinite(DType, const void* values, std::size_t count, NonFinite* found, Stream);

}  // namespace weft::cuda
