// Every call of the CUDA runtime goes through here.
#pragma once

#include "kernels/base/error.hpp"
#include "kernels/cuda/runtime.hpp"

#include <cstddef>
#include <cstdint>

#include <cuda_runtime.h>

namespace weft::cuda {

inline void check_cuda(cudaError_t error, const char* what) {
  if (error != cudaSuccess) [[unlikely]]
    throw RunError(fmt::format("cuda: {}: {} ({})", what, cudaGetErrorString(error), cudaGetErrorName(error)));
}

// After a kernel launch, which itself returns nothing.
inline void check_launch(const char* kernel) { check_cuda(cudaGetLastError(), kernel); }

// Memory for the work of one call: allocated and freed in the order of the stream, also within a captured graph. The device's pool
// keeps what is freed: by default every synchronisation would give it back to the driver, and the next call would ask again.
class Scratch {
 public:
  Scratch(std::size_t bytes, Stream stream) : stream_(stream) {
    if (bytes == 0) return;
    keep_pool();
    check_cuda(cudaMallocAsync(&data_, bytes, stream), "cudaMallocAsync");
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (data_ != nullptr) cudaFreeAsync(data_, stream_);  // fails only after another call has failed
  }

  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  static void keep_pool() {
    static thread_local std::uint64_t done = 0;  // by device
    const int device = current_device();
    if (device < 64 && (done >> device & 1) != 0) return;
    cudaMemPool_t pool = nullptr;
    check_cuda(cudaDeviceGetDefaultMemPool(&pool, device), "cudaDeviceGetDefaultMemPool");
    std::uint64_t everything = UINT64_MAX;
    check_cuda(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &everything), "cudaMemPoolSetAttribute");
    if (device < 64) done |= std::uint64_t{1} << device;
  }

  void* data_ = nullptr;
  Stream stream_;
};

}  // namespace weft::cuda
