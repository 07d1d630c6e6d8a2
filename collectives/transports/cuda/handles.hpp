// Owners of the CUDA runtime's objects, each of the device that was current when it was made.
#pragma once

#include "kernels/cuda/check.hpp"

#include <utility>

#include <cuda_runtime.h>

namespace weft::cuda {

// Other's handles; those of a process that is about to end are leaked on purpose (see StuckError).
template <class Handle, cudaError_t (*destroy)(Handle)>
class Owner {
 public:
  Owner() = default;
  explicit Owner(Handle handle) : handle_(handle) {}
  Owner(Owner&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owner& operator=(Owner&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owner() {
    if (handle_ != nullptr) static_cast<void>(destroy(handle_));  // fails only after another call has failed
  }
  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};

using OwnedStream = Owner<cudaStream_t, cudaStreamDestroy>;
using OwnedEvent = Owner<cudaEvent_t, cudaEventDestroy>;
using OwnedGraph = Owner<cudaGraph_t, cudaGraphDestroy>;
using OwnedGraphExec = Owner<cudaGraphExec_t, cudaGraphExecDestroy>;

// One that waits for no other stream by itself.
inline OwnedStream make_stream() {
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return OwnedStream(stream);
}

enum class Timing { off, on };
inline OwnedEvent make_event(Timing timing) {
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreateWithFlags(&event, timing == Timing::on ? cudaEventDefault : cudaEventDisableTiming),
             "cudaEventCreateWithFlags");
  return OwnedEvent(event);
}

inline double microseconds_between(const OwnedEvent& start, const OwnedEvent& end) {
  float milliseconds = 0;
  check_cuda(cudaEventElapsedTime(&milliseconds, start.get(), end.get()), "cudaEventElapsedTime");
  return static_cast<double>(milliseconds) * 1000;
}

}  // namespace weft::cuda
