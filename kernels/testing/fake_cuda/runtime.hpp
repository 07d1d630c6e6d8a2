// For tests: what others may enqueue on the streams of the fake CUDA runtime, as kernels and the stand-in for NCCL do.
#pragma once

#include <functional>

#include <cuda_runtime.h>

namespace weft::fake_cuda {

// Done when it returns true; until then it is called again whenever the host asks how far the devices are, and what follows on the
// stream waits. In a captured graph it is run anew by every launch.
using Work = std::function<bool()>;

// `stream` must be of the current device.
void enqueue(cudaStream_t stream, Work);

}  // namespace weft::fake_cuda
