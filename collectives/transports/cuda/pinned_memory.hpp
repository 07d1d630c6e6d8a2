// Memory of the host that devices use.
#pragma once

#include "kernels/cuda/check.hpp"

#include <cstddef>
#include <utility>

namespace weft::cuda {

// Of the host, page-locked: devices copy from and to it while the host goes on, and their kernels read it.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  explicit PinnedMemory(std::size_t bytes) { check_cuda(cudaHostAlloc(&data_, bytes, cudaHostAllocPortable), "cudaHostAlloc"); }
  PinnedMemory(PinnedMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  PinnedMemory& operator=(PinnedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~PinnedMemory() {
    if (data_ != nullptr) cudaFreeHost(data_);  // fails only after another call has failed
  }
  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  void* data_ = nullptr;
};

}  // namespace weft::cuda
