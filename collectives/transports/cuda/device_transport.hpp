// Messages between memories of devices over a transport of the host, TCP's or MPI's: handed over as they are where the medium takes
// device memory, else through page-locked memory, in pieces, so that copying one overlaps sending the next. No CUDA header is needed to
// use it.
#pragma once

#include "collectives/transports/cuda/stream_transport.hpp"

#include <cstddef>
#include <memory>

namespace weft::cuda {

enum class Carriage { staged, direct };

struct DeviceCarriage {
  int device = 0;
  Carriage carriage = Carriage::staged;            // direct: the medium takes addresses on the device
  std::size_t piece_bytes = std::size_t{1} << 19;  // of a message that is staged; the same on all ranks
};

// Staged, a message goes as pieces of one tag, the n-th of every message of
// a step in the n-th round; so both ends of a message have a DeviceTransport.
class DeviceTransport final : public StreamTransport {
 public:
  // `inner` must stay. Throws RunError for what CUDA refuses.
  DeviceTransport(Transport& inner, DeviceCarriage);
  ~DeviceTransport() override;

  void receive(Rank from, Tag tag, ByteSpan into) override;
  bool receive_reduce(Rank from, Tag tag, DType dtype, ReduceOp op, ByteSpan into) override;
  void send(Rank to, Tag tag, ByteView bytes) override;
  void wait() override;
  void reduce(DType dtype, ReduceOp op, ByteSpan into, ByteView from) override;
  void copy(ByteSpan into, ByteView from) override;
  std::byte* aside(std::size_t bytes) override;

  int device() const override;
  Stream stream() override;
  void finish() override;

 private:
  class Staging;
  std::unique_ptr<Staging> staging_;
};

}  // namespace weft::cuda
