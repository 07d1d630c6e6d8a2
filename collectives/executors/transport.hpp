// The seam to the world: carries byte ranges between ranks. One object per rank (and channel), used by one thread.
#pragma once

#include "collectives/schedule/schedule.hpp"
#include "kernels/dtype.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft {

using ByteView = std::span<const std::byte>;
using ByteSpan = std::span<std::byte>;
using Tag = std::uint64_t;  // messages of one (from, to, tag) arrive in the order they were sent

// The tag of one message of a collective, and back.
struct MessageName {
  int channel = 0;
  int step = 0;
  std::uint32_t position = 0;  // in the step
};
Tag tag_of(MessageName);
MessageName name_of(Tag);
std::string to_string(MessageName);  // "step 2, message 5", with "channel 1, " before it except for channel 0

// What becomes of a message that is reduced into what stands where it arrives.
struct Reduction {
  DType dtype;
  ReduceOp op;
};

class Transport {
 public:
  virtual ~Transport() = default;

  // Starts receiving the message with this tag from `from`; its length must equal `into`.
  virtual void receive(Rank from, Tag tag, ByteSpan into) = 0;
  // The same, but the message is reduced into `into` when it arrives; nothing else touches `into` until wait() returns.
  // False, with nothing started, where the medium has no such way: receive elsewhere, then call reduce().
  virtual bool receive_reduce(Rank from, Tag tag, DType dtype, ReduceOp op, ByteSpan into) {
    static_cast<void>(from), static_cast<void>(tag), static_cast<void>(dtype), static_cast<void>(op), static_cast<void>(into);
    return false;
  }
  // Starts sending. `bytes` must stay valid and unchanged until wait() returns.
  virtual void send(Rank to, Tag tag, ByteView bytes) = 0;
  // Returns when every send and receive started so far is done. Throws RunError naming the peer if one cannot be.
  virtual void wait() = 0;
  // into = into op from, on this rank. Reductions of a step are applied in its order, so results are reproducible.
  virtual void reduce(DType dtype, ReduceOp op, ByteSpan into, ByteView from) = 0;

  // Messages lie in the host's memory, unless these say otherwise. into = from, in order with what is received and reduced.
  virtual void copy(ByteSpan into, ByteView from);
  // At least so many bytes beside them, for what a step holds aside, until the next call; null: the caller's own will do.
  virtual std::byte* aside(std::size_t bytes) { return static_cast<void>(bytes), nullptr; }
};

}  // namespace weft
