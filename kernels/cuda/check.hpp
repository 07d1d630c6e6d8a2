// Every call of the CUDA runtime goes through here.
#pragma once

#include "kernels/base/error.hpp"
#include "kernels/cuda/runtime.hpp"

#include <cstddef>

#include <cuda_runtime.h>

namespace weft::cuda {

inline void check_cuda(cudaError_t error, const char* what) {
  if (error != cudaSuccess) [[unlikely]]
    throw RunError(fmt::format("cuda: {}: {} ({})", what, cudaGetErrorString(error), cudaGetErrorName(error)));
}

// After a kernel launch, which itself returns nothing.
inline void check_launch(const char* kernel) { check_cuda(cudaGetLastError(), kernel); }

// Memory for the work of one call: allocated and freed in the order of the stream, also within a captured graph.
class Scratch {
 public:
  Scratch(std::size_t bytes, Stream stream) : stream_(stream) {
    if (bytes > 0) check_cuda(cudaMallocAsync(&data_, bytes, stream), "cudaMallocAsync");
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
  void* data_ = nullptr;
  Stream stream_;
};

}  // namespace weft::cuda
