// For tests: what a kernel's source needs to be compiled for the host, where the threads of a block run in turn, each until it waits for
// the others. Launches, `kernel<<<blocks, threads, 0, stream>>>(arguments)`, are rewritten to run_on_host by on_host.cmake.
#pragma once

#include "kernels/testing/fake_cuda/runtime.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <vector>

#include <cuda_runtime.h>

#undef __global__
#undef __device__
#undef __shared__
#undef __launch_bounds__
#define __global__
#define __device__
#define __shared__ static  // one block runs after another
#define __launch_bounds__(most)

namespace weft::fake_cuda {

struct Place {
  unsigned x = 0;
};
inline Place threadIdx, blockIdx, blockDim, gridDim;

// Runs `thread` for every thread of every block.
void run_blocks(unsigned blocks, unsigned threads, const std::function<void()>& thread);
// Returns when all threads of the block, or of the warp, that still run have called it.
void wait_for_block();
void wait_for_warp();
// Of the warp: what each lane that takes part has written.
std::uint64_t* lanes();

template <class Kernel>
auto run_on_host(Kernel kernel, std::size_t blocks, unsigned threads, std::size_t, cudaStream_t stream) {
  return [=](auto... arguments) {
    enqueue(stream, [=] { return run_blocks(static_cast<unsigned>(blocks), threads, [&] { kernel(arguments...); }), true; });
  };
}

template <class T>
T exchanged(T value, unsigned from_lane) {
  lanes()[threadIdx.x % 32] = static_cast<std::uint64_t>(value);
  wait_for_warp();
  const T got = static_cast<T>(lanes()[from_lane % 32]);
  wait_for_warp();
  return got;
}

}  // namespace weft::fake_cuda

using weft::fake_cuda::blockDim, weft::fake_cuda::blockIdx, weft::fake_cuda::gridDim, weft::fake_cuda::threadIdx;

inline void __syncthreads() { weft::fake_cuda::wait_for_block(); }
inline void __threadfence() {}
inline void __trap() { std::abort(); }
template <class T>
T __ldcg(const T* from) {
  return *from;
}
inline bool __any_sync(unsigned, bool mine) {
  bool any = false;
  for (unsigned lane = 0; lane < 32; ++lane) any |= weft::fake_cuda::exchanged<unsigned>(mine, lane) != 0;
  return any;
}
template <class T>
T __shfl_down_sync(unsigned, T value, unsigned distance) {
  const unsigned from = threadIdx.x % 32 + distance;
  return weft::fake_cuda::exchanged(value, from < 32 ? from : threadIdx.x % 32);
}
template <class T, class U>
T atomicAdd(T* to, U value) {
  const T before = *to;
  *to = static_cast<T>(before + static_cast<T>(value));
  return before;
}
template <class T>
T atomicMax(T* to, T value) {
  const T before = *to;
  *to = std::max(before, value);
  return before;
}

// As much of CUB as kernels use.
namespace cub {

template <class T, int threads>
class BlockScan {
 public:
  using TempStorage = T[threads];
  explicit BlockScan(TempStorage& storage) : storage_(storage) {}

  template <int each>
  void ExclusiveSum(const T (&in)[each], T (&out)[each]) {
    T own = 0;
    for (const T& value : in) own += value;
    storage_[threadIdx.x] = own;
    weft::fake_cuda::wait_for_block();
    T before = 0;
    for (unsigned t = 0; t < threadIdx.x; ++t) before += storage_[t];
    for (int i = 0; i < each; ++i) out[i] = before, before += in[i];
  }

 private:
  TempStorage& storage_;
};

struct DeviceRadixSort {
  template <class Key>
  static cudaError_t SortKeysDescending(void* scratch, std::size_t& bytes, const Key* from, Key* to, std::size_t count, int, int,
                                        cudaStream_t stream) {
    bytes = 1;
    if (scratch == nullptr) return cudaSuccess;
    weft::fake_cuda::enqueue(stream, [=] {
      std::copy(from, from + count, to);
      std::sort(to, to + count, std::greater<>());
      return true;
    });
    return cudaSuccess;
  }
};

}  // namespace cub
