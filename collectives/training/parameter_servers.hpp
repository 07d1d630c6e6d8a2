// What BytePS does with a partition, for real: a rank pushes it to the partition's parameter server, which adds up those of all ranks and
// sends the sum back. Every partition for itself, in whatever order ranks begin them.
#pragma once

#include "collectives/engines/engine.hpp"
#include "collectives/training/message_links.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace weft {

// One rank's part: of a worker, of the servers beside it, or of a server on a host of its own, which are the ranks behind the workers.
class ParameterServers final : private MessageLinks::Receiver {
 public:
  struct Heard {  // called by threads of its own
    std::function<void(int order)> pushed, ended;
    ControlLinks::Broken broken;
  };

  ParameterServers(const RankLinks& links, int first_channel, Heard heard);
  ~ParameterServers() override;
  ParameterServers(const ParameterServers&) = delete;
  ParameterServers& operator=(const ParameterServers&) = delete;

  // A server on a host of its own, until all workers have ended. Throws RunError where the run is ended before.
  static void serve(const RankLinks& links, int first_channel);

  // The float32 values in `memory` become the sum over all workers, which the rank `server` makes: beside a worker, or behind them.
  void push(int order, Rank server, ByteSpan memory);

 private:
  // Of one partition on its server.
  struct Sum {
    std::vector<float> values = {};
    int missing = 0;  // workers
  };
  ByteSpan place(Rank from, std::uint64_t what, std::size_t size) override;
  void arrived(Rank from, std::uint64_t what) override;
  void add(int order, ByteView values);
  void answer(int order, std::shared_ptr<const Sum> sum);
  void end(int order, ByteView values);

  RankLinks links_;
  Heard heard_;
  std::mutex mutex_;
  std::map<int, ByteSpan> pulled_;            // of this worker's orders, by id
  std::map<int, std::shared_ptr<Sum>> sums_;  // of those that come to a server here
  std::vector<std::vector<std::byte>> from_;  // what a worker pushes, by worker
  std::optional<MessageLinks> peers_;         // ends before what its threads use
};

}  // namespace weft
