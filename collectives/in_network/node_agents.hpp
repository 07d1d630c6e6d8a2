// One all-reduce as the processes of a UdpLayout do it: the agents of each of them.
#pragma once

#include "collectives/in_network/deployment.hpp"
#include "collectives/in_network/gradient_values.hpp"
#include "collectives/in_network/udp_map.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace weft {

// Where everything is for messages of so many elements. What meets at one switch meets at the first that adds. Addresses are the
// same for all sizes.
struct UdpDeployment {
  UdpDeployment(const InNetworkSettings& settings, const UdpLayout& layout, std::int64_t elements);

  std::int64_t elements;
  InNetworkDeployment agents;
  UdpMap map;
  FixedPoint point = {};
};

// The memory of one worker's message.
struct WorkerMemory {
  DType dtype = DType::float32;
  const void* gradients = nullptr;
  void* sums = nullptr;
};

class NodeAgents {
 public:
  struct Seat {
    Address address = nobody;
    Agent* agent = nullptr;
  };

  // The deployment must outlive this; only workers have memory.
  NodeAgents(const UdpDeployment& deployment, int node, const WorkerMemory& memory = {});

  const std::vector<Seat>& seats() const { return seats_; }
  bool finished() const;
  std::int64_t progress() const;  // where this stays the same, nothing moves
  // A line for each agent that has not finished, "worker 0 waits for ...".
  std::string waiting() const;
  // The first value or sum that did not fit and is wrong, "" if none.
  std::string overflow() const;
  InNetworkStatistics statistics() const;

 private:
  std::string name_;
  bool floats_;  // what does not fit becomes floating point, and is right
  std::deque<GradientValues> values_;
  std::vector<std::unique_ptr<InNetworkAgent>> agents_;
  std::vector<Seat> seats_;
};

}  // namespace weft
