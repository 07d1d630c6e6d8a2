// Transport in shared memory: every (rank, channel) is a thread of this process. Nothing is copied on the way: the receiver
// reads, or reduces, straight from the sender's memory as soon as both have come to the message.
#pragma once

#include "collectives/executors/blocking.hpp"
#include "collectives/executors/transport.hpp"
#include "collectives/schedule/schedule.hpp"

#include <chrono>
#include <memory>
#include <span>
#include <string>

namespace weft {

struct ThreadsSettings {
  std::chrono::milliseconds patience{30'000};  // a wait ends the run when no rank has made progress for this long
};

class ThreadsWorld {
 public:
  explicit ThreadsWorld(int ranks, int channels = 1, ThreadsSettings settings = {});
  ~ThreadsWorld();

  Transport& at(Rank rank, int channel = 0);
  // Ends the run: every wait, now or later, throws RunError. The first reason is kept.
  void fail(const std::string& reason);
  // The reason, and below it who was waiting for whom when the run ended. Empty if it was not ended.
  std::string report() const;

 private:
  class Endpoint;
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

// Runs the schedule with real data: one buffer per rank, one thread per rank and channel. Throws RunError.
void run_threads(const Schedule& schedule, ReduceOp op, std::span<const Buffer> buffers, ThreadsSettings settings = {});

}  // namespace weft
