// Messages by NCCL between memories of devices, for what one rank's host thread runs step by step.
#pragma once

#include "collectives/transports/cuda/stream_transport.hpp"
#include "collectives/transports/nccl/nccl.hpp"

#include <chrono>
#include <memory>

namespace weft {

// A step's messages are one group of NCCL, and what follows on the stream goes after them: the host waits in finish() only, for no longer
// than `patience`.
class NcclTransport final : public cuda::StreamTransport {
 public:
  // `world` must stay. Throws RunError for what CUDA refuses.
  NcclTransport(NcclWorld& world, Rank rank, int device, std::chrono::milliseconds patience);
  ~NcclTransport() override;

  void receive(Rank from, Tag tag, ByteSpan into) override;
  void send(Rank to, Tag tag, ByteView bytes) override;
  void wait() override;
  void reduce(DType dtype, ReduceOp op, ByteSpan into, ByteView from) override;
  void copy(ByteSpan into, ByteView from) override;
  std::byte* aside(std::size_t bytes) override;

  int device() const override;
  cuda::Stream stream() override;
  void finish() override;

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace weft
