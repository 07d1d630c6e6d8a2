// What the CUDA kernels and their callers need of the CUDA runtime, without its headers: so that plain C++ files can use it.
//
// The functions of weft::cuda take memory of the current device (spans of it are never looked into on the host), enqueue
// their work on a stream and return; they may be captured into a graph. What CUDA refuses is a RunError.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

struct CUstream_st;

namespace weft::cuda {

using Stream = CUstream_st*;  // what cudaStream_t is; nullptr is the default stream

// 0 without a driver, too. Throws RunError, with both versions, where the driver is too old for this program.
int device_count();
std::string device_name(int device);

int current_device();
void use_device(int device);

// Gives the calling thread its current device back.
class KeptDevice {
 public:
  KeptDevice() : device_(current_device()) {}
  KeptDevice(const KeptDevice&) = delete;
  KeptDevice& operator=(const KeptDevice&) = delete;
  ~KeptDevice();

 private:
  int device_;
};

// "13.0"
std::string version_text(int version);

// Memory of the current device, not initialised.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  explicit DeviceMemory(std::size_t bytes);
  DeviceMemory(DeviceMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~DeviceMemory();

  void* data() const { return data_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
};

// Between host and device or within either; the host may go on before it is done.
void copy(void* to, const void* from, std::size_t bytes, Stream = nullptr);
void zero(void* data, std::size_t bytes, Stream = nullptr);

// Waits until all that was enqueued is done, and throws what went wrong.
void synchronise(Stream = nullptr);

}  // namespace weft::cuda
