// Carries the messages of ranks on devices, and looks after them while the host waits.
#pragma once

#include "collectives/executors/transport.hpp"
#include "kernels/base/error.hpp"
#include "kernels/cuda/runtime.hpp"

#include <cstddef>
#include <string>

namespace weft::cuda {

// Looks after the other ranks while the host waits for a device.
class Lookout {
 public:
  virtual ~Lookout() = default;
  // Throws RunError if it knows that the devices will not end.
  virtual void look() {}
  // For who has waited for half its patience: tells other processes what for, "" for no longer; and what they have told, a line for each.
  virtual void tell_waiting(const std::string&) {}
  virtual std::string others() { return {}; }
};

// Carries the sends and receives of a plan; the cuda executor has none, NCCL is one.
class Messenger : public Lookout {
 public:
  virtual void begin_group() = 0;
  // `stream` is of the rank's device; the work is enqueued there by the end of the group at the latest.
  virtual void send(Rank from, Rank to, const void* data, std::size_t bytes, Stream) = 0;
  virtual void receive(Rank at, Rank from, void* into, std::size_t bytes, Stream) = 0;
  virtual void end_group() = 0;
};

// The devices had made no end of their work when patience did. They may never: whoever catches this ends the process without
// freeing what they use.
class StuckError : public RunError {
 public:
  using RunError::RunError;
};

}  // namespace weft::cuda
