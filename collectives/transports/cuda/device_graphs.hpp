// A plan as graphs of one device each, for where CUDA takes no graph over several: a device's work is cut where it waits for another
// device's, and the host launches the parts and enqueues these waits between them.
#pragma once

#include "collectives/executors/stream/plan.hpp"
#include "collectives/transports/cuda/handles.hpp"

#include <functional>
#include <map>
#include <vector>

namespace weft::cuda {

class DeviceGraphs {
 public:
  // How the executor runs the plan: on which device a stream is, what it is, and how an operation is enqueued there.
  struct Source {
    const StreamPlan& plan;
    std::function<int(int stream)> device_of;
    std::function<const OwnedStream&(int stream)> stream;
    std::function<void(const StreamOperation&)> enqueue;
  };

  // Captures all of it. The plan has no messages. Throws RunError for what CUDA refuses.
  explicit DeviceGraphs(const Source&);

  // Enqueues it: nothing begins before `start`, and `end` waits for all.
  void launch(const OwnedEvent& start, const OwnedStream& end) const;

 private:
  class Capture;
  struct Part {  // a graph of the device, or where that is none a wait for the end of another part
    int device = 0;
    OwnedGraphExec graph;
    OwnedEvent ended;
    std::size_t awaited = 0;
  };
  std::map<int, OwnedStream> origins_;  // of each device
  std::vector<Part> parts_;
};

}  // namespace weft::cuda
