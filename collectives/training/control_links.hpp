// Control messages of engines between ranks, over any transport: real bytes, each pair's in order, received at any time.
#pragma once

#include "collectives/executors/transport.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace weft {

// What one rank of a real run reaches others by.
struct RankLinks {
  Rank rank = 0;
  int ranks = 1;
  std::function<Transport&(int channel)> at;            // each is used by one thread
  std::function<void(const std::string& reason)> fail;  // ends the run on all ranks: their waits throw
  std::chrono::milliseconds patience{30'000};           // after which a wait in which nothing moves ends the run
  int servers = 0;                                      // ranks behind the others, on hosts of parameter servers of their own

  int all() const { return ranks + servers; }
};

class ControlLinks {
 public:
  using Received = std::function<void(Rank from, std::uint32_t epoch, std::vector<std::byte> message)>;
  using Broken = std::function<void(std::exception_ptr)>;

  // Uses channels 0 to ranks - 1. Both functions are called by threads of its own.
  ControlLinks(const RankLinks& links, Received received, Broken broken);
  // Says farewell, so that all ranks must come here; after a failure the run must have been ended before.
  ~ControlLinks();
  ControlLinks(const ControlLinks&) = delete;
  ControlLinks& operator=(const ControlLinks&) = delete;

  // `epoch`: of the engine that it is meant for.
  void send(Rank to, std::uint32_t epoch, std::vector<std::byte> message);

 private:
  struct Outgoing {
    Rank to;
    std::uint32_t epoch;
    std::vector<std::byte> bytes;
  };
  void send_all();
  void receive_from(Rank from);

  RankLinks links_;
  Received received_;
  Broken broken_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<Outgoing> queue_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace weft
