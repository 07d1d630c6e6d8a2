// Compressed all-reduces of gradients on a GPU: one rank's part. Runs the plan that the Compressor runs, kernel by kernel on the device,
// exchange by exchange between memories of devices, and leaves the same bits.
#pragma once

#include "collectives/compression/compressor.hpp"
#include "collectives/transports/cuda/stream_transport.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace weft::cuda {

class DeviceCompressor {
 public:
  // On the current device, which `transport`'s must be. Throws InputError with all that is wrong with the settings; what is not sent is
  // kept in a vector, without momentum.
  DeviceCompressor(CompressionSettings settings, std::vector<TensorShape> tensors, Rank rank, const Request& allreduce);
  ~DeviceCompressor();

  // Of a gradient and what its exchange may need behind it.
  std::size_t gradient_bytes() const;
  // `gradient` becomes the sum over all ranks of what they sent. The first call compares the settings of all ranks over `host`, which
  // carries memory of the host. When it returns, work may be left on the transport's stream. Throws RunError as Compressor does.
  void all_reduce(float* gradient, StreamTransport& transport, Transport& host);

  const CompressionPlan& plan() const;
  // What this rank has not sent yet, from the device.
  std::vector<float> kept(StreamTransport&) const;

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace weft::cuda
