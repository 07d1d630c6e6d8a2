// kernels/pack.hpp on the GPU. Where the pieces lie is told once and kept on the device, so that packing itself is one
// launch.
#pragma once

#include "kernels/cuda/runtime.hpp"
#include "kernels/pack.hpp"

#include <cstddef>
#include <span>

namespace weft::cuda {

class PackPlan {
 public:
  // Pieces and buffer in device memory; the buffer is exactly as long as the pieces together. Waits for the device.
  PackPlan(std::span<const Piece> pieces, Piece buffer);

  void pack(Stream) const;
  void unpack(Stream) const;

 private:
  std::size_t count_ = 0;  // of the pieces that are not empty
  DeviceMemory pieces_;    // their addresses
  DeviceMemory places_;    // their addresses in the buffer
  DeviceMemory sizes_;
  DeviceMemory scratch_;
  std::size_t scratch_bytes_ = 0;
};

}  // namespace weft::cuda
