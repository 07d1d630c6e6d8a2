// kernels/one_launch_ops.hpp on the GPU: one launch for each rank, which all must be enqueued before any can end.
#pragma once

#include "kernels/cuda/runtime.hpp"
#include "kernels/one_launch_ops.hpp"

namespace weft::cuda {

// sum or avg. `call.place` is memory that this rank's device can read and write, flags and counters 0 before the first call; every rank
// makes the same calls in the same order.
void one_launch_allreduce(const OneLaunchCall& call, Shots, DType, ReduceOp, Stream);

}  // namespace weft::cuda
