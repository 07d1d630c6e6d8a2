#include "kernels/cuda/runtime.hpp"

#include "kernels/cuda/check.hpp"

namespace weft::cuda {

int device_count() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver) {
    static_cast<void>(cudaGetLastError());  // it would be reported by the next launch
    int driver = 0, runtime = 0;
    check_cuda(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    check_cuda(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    const bool driver_there = driver != 0;  // without one the runtime calls it insufficient
    if (error == cudaErrorInsufficientDriver && driver_there)
      throw RunError(fmt::format("cuda: the driver is for CUDA {}, and this program was built for CUDA {}: install a newer driver",
                                 version_text(driver), version_text(runtime)));
    return 0;
  }
  check_cuda(error, "cudaGetDeviceCount");
  return count;
}

std::string device_name(int device) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  return properties.name;
}

int current_device() {
  int device = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  return device;
}

void use_device(int device) { check_cuda(cudaSetDevice(device), "cudaSetDevice"); }

KeptDevice::~KeptDevice() { static_cast<void>(cudaSetDevice(device_)); }  // fails only after another call has failed

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

DeviceMemory::DeviceMemory(std::size_t bytes) {
  if (bytes > 0) check_cuda(cudaMalloc(&data_, bytes), "cudaMalloc");
}

DeviceMemory::~DeviceMemory() {
  if (data_ != nullptr) cudaFree(data_);  // fails only after another call has failed
}

void copy(void* to, const void* from, std::size_t bytes, Stream stream) {
  if (bytes > 0) check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "cudaMemcpyAsync");
}

void zero(void* data, std::size_t bytes, Stream stream) {
  if (bytes > 0) check_cuda(cudaMemsetAsync(data, 0, bytes, stream), "cudaMemsetAsync");
}

void synchronise(Stream stream) { check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize"); }

}  // namespace weft::cuda
