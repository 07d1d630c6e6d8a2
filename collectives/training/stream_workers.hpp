// Streams of one rank: each a thread that runs all-reduces one after another over a channel of its own.
#pragma once

#include "collectives/executors/blocking.hpp"
#include "collectives/training/control_links.hpp"

#include <memory>

namespace weft {

// Runs schedule's part of this rank on the values, in place.
struct ReduceJob {
  int id = 0;
  std::shared_ptr<const Schedule> schedule;
  DType dtype = DType::float32;
  ReduceOp op = ReduceOp::sum;
  std::vector<ByteSpan> slices;                  // taken together, in this order
  std::function<void(Transport&)> instead = {};  // of the schedule
};

class StreamWorkers {
 public:
  using Ended = std::function<void(int id)>;

  // Stream s uses the channel first_channel + s. Both functions are called by threads of its own.
  StreamWorkers(const RankLinks& links, int streams, Ended ended, ControlLinks::Broken broken);
  ~StreamWorkers();
  StreamWorkers(const StreamWorkers&) = delete;
  StreamWorkers& operator=(const StreamWorkers&) = delete;

  void start(int stream, ReduceJob job);

 private:
  struct Worker {
    std::deque<ReduceJob> queue = {};
    std::vector<std::byte> memory = {};
    std::thread thread = {};
  };
  void work(int stream);
  void reduce(const ReduceJob& job, std::vector<std::byte>& memory, Transport& transport) const;

  RankLinks links_;
  Ended ended_;
  ControlLinks::Broken broken_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<Worker> workers_;
  bool ending_ = false;
};

}  // namespace weft
