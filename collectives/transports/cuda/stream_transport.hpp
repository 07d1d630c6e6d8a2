// Messages between memories of devices, for what one rank's host thread runs step by step on its own device.
#pragma once

#include "collectives/executors/transport.hpp"
#include "kernels/cuda/runtime.hpp"

namespace weft::cuda {

// All addresses are of the device's memory. Used by one thread.
class StreamTransport : public Transport {
 public:
  virtual int device() const = 0;
  // On which reductions and copies are enqueued, for more of the same: what is enqueued before a message is sent is done before it goes,
  // what is enqueued after wait() sees what has come.
  virtual Stream stream() = 0;
  // Returns when all that was enqueued is done. Throws RunError where it will not be.
  virtual void finish() = 0;
};

}  // namespace weft::cuda
