// kernels/reduce.hpp on the GPU: the same bits.
#pragma once

#include "kernels/cuda/runtime.hpp"
#include "kernels/dtype.hpp"

#include <cstddef>
#include <span>

namespace weft::cuda {

void reduce(DType, ReduceOp, void* into, const void* from, std::size_t count, Stream);
void reduce_into(DType, ReduceOp, void* out, const void* a, const void* b, std::size_t count, Stream);
void reduce_many(DType, ReduceOp, void* out, std::span<const void* const> in, std::size_t count, Stream);
void scale_average(DType, void* data, std::size_t count, int ranks, Stream);

}  // namespace weft::cuda
