#include "kernels/cuda/runtime.hpp"

#include "kernels/cuda/check.hpp"

namespace weft::cuda {

int device_count() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver) {
    static_cast<void>(cudaGetLastError());  // it would be reported by the next launch
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
