// What a rank does with what it receives: elementwise reduction of two buffers.
//
// float16 and bfloat16 are computed in float32 and rounded once per operation. Integers wrap as unsigned ones do. min
// and max of a NaN and anything is NaN. avg adds; scale_average divides the sum once, at the end. The same call gives
// the same bits on every machine, but for the payload of NaNs.
//
// Pointers are aligned for the type. op must be defined for it (dtype.hpp).
#pragma once

#include "kernels/dtype.hpp"
#include "kernels/simd.hpp"

#include <cstddef>
#include <span>

namespace weft {

// into[i] = into[i] op from[i]. The buffers do not overlap.
void reduce(DType, ReduceOp, void* into, const void* from, std::size_t count);

// out[i] = a[i] op b[i]. `out` may equal `a` or `b`; otherwise the buffers do not overlap.
void reduce_into(DType, ReduceOp, void* out, const void* a, const void* b, std::size_t count);
void reduce_into(InstructionSet, DType, ReduceOp, void* out, const void* a, const void* b, std::size_t count);

// out[i] = in[0][i] op in[1][i] op ..., from left to right, rounded as so many calls of reduce_into round. `out` may equal in[0];
// otherwise the buffers do not overlap. At least two.
void reduce_many(DType, ReduceOp, void* out, std::span<const void* const> in, std::size_t count);

// data[i] = data[i] / ranks; integers round toward zero. ranks >= 1.
void scale_average(DType, void* data, std::size_t count, int ranks);

}  // namespace weft
