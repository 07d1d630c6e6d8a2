// The stream executor: runs StreamPlans on the GPUs of this process. All ranks' work is enqueued by one host thread, which
// waits for nothing in between; the devices order it among themselves by events. No CUDA header is needed to use it.
#pragma once

#include "collectives/executors/stream/plan.hpp"
#include "collectives/executors/transport.hpp"
#include "collectives/transports/cuda/devices.hpp"
#include "collectives/transports/cuda/messenger.hpp"
#include "kernels/cuda/runtime.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weft::cuda {

struct ExecutorSettings {
  std::vector<int> devices;  // of each rank; several ranks may share one. What `elsewhere` ranks do is left to their processes.
  Messenger* messenger = nullptr;
  Lookout* lookout = nullptr;  // where no messenger is one
  std::chrono::milliseconds patience{30'000};
};

class Executor {
 public:
  // Throws RunError for what CUDA refuses. Lets every device read every other's memory where the hardware can.
  explicit Executor(ExecutorSettings);
  ~Executor();

  // Whether kernels of one rank can read another's memory.
  bool reads(Rank reader, Rank owner) const;

  // Makes memory, streams and events for a plan and takes it as what run() does. Memory keeps its contents only as long as
  // plans need the same.
  void prepare(StreamPlan);
  // Takes something else as what run() does, on the memories and streams of the plan.
  void replace(std::function<void()> enqueue);
  // Turns it into a graph of CUDA, which run() then replays. It must have run once: libraries prepare on first use.
  void capture();

  // Runs it so many times, one after the other: the host waits for none of them. Returns the microseconds of one, from when the devices
  // began until all had ended, by the clock of the first rank's device.
  double run(std::int64_t count = 1);

  // What a plan with marks noted in the last run: the microseconds of each mark, by the clock of its device.
  std::vector<double> marks_us() const;
  // How much each rank's device shows more than rank 0's, and by how much that may be wrong, in the last run with marks.
  struct Clock {
    double offset_us = 0;
    double error_us = 0;
  };
  std::vector<Clock> clocks() const;
  // When the marks' clock of the first rank here began, by the host's steady clock, in the last run with marks.
  struct Start {
    double host_us = 0;
    double error_us = 0;
  };
  Start start() const;

  // The memory of a rank's message, and its first stream.
  void* message(Rank) const;
  Stream stream(Rank) const;
  void write(Rank, ByteView);       // from the host into the message
  void read(Rank, ByteSpan) const;  // and back

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace weft::cuda
