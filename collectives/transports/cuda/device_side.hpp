// What a rank's transport does on its device beside carrying messages.
#pragma once

#include "collectives/executors/transport.hpp"
#include "collectives/transports/cuda/handles.hpp"
#include "kernels/cuda/reduce.hpp"

#include <cstddef>
#include <functional>

namespace weft::cuda {

// Everything is enqueued on one stream.
class DeviceSide {
 public:
  explicit DeviceSide(int device) : device_(device) {
    const KeptDevice callers;
    use_device(device);
    stream_ = make_stream();
  }

  int device() const { return device_; }
  const OwnedStream& stream() const { return stream_; }

  void reduce(DType dtype, ReduceOp op, void* into, const void* from, std::size_t bytes) const {
    if (bytes == 0) return;
    use_device(device_);
    cuda::reduce(dtype, op, into, from, bytes / size_of(dtype), stream_.get());
  }
  void copy(void* into, const void* from, std::size_t bytes) const {
    use_device(device_);
    cuda::copy(into, from, bytes, stream_.get());
  }
  // As of Transport; finish() lets what may still use the memory end, before there is more of it.
  std::byte* aside(std::size_t bytes, const std::function<void()>& finish) {
    if (bytes <= aside_bytes_) return aside_.as<std::byte>();
    finish();
    use_device(device_);
    aside_ = {};
    aside_ = DeviceMemory(bytes);
    aside_bytes_ = bytes;
    return aside_.as<std::byte>();
  }

 private:
  const int device_;
  OwnedStream stream_;
  DeviceMemory aside_;
  std::size_t aside_bytes_ = 0;
};

}  // namespace weft::cuda
