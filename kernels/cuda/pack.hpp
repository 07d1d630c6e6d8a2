// kernels/pack.hpp on the GPU. Where the pieces lie is told once and kept on the device, so that packing itself is one
// launch, and one plan may be used on several streams at once.
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
  void enqueue(bool packs, Stream) const;

  Piece buffer_;
  std::size_t count_ = 0;  // of the pieces that are not empty
  DeviceMemory pieces_;    // their addresses
  DeviceMemory begins_;    // where they begin in the buffer, and its end
};

}  // namespace weft::cuda
