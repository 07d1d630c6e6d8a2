// One all-reduce by ATP or SwitchML as the processes of a UdpLayout do it: the agents of each of them.
#pragma once

#include "collectives/in_network/atp_switch.hpp"
#include "collectives/in_network/deployment.hpp"
#include "collectives/in_network/gradient_values.hpp"
#include "collectives/in_network/udp_map.hpp"

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace weft {

struct InNetworkProtocol {
  enum class Kind { atp, switchml } kind = Kind::atp;
  AtpSettings atp = {};
  SwitchmlSettings switchml = {};
  FixedPoint point = {};

  int values_per_packet() const { return kind == Kind::atp ? atp.values_per_packet : switchml.values_per_packet; }
};

// Where everything is for messages of so many elements. SwitchML uses the first switch that adds. Addresses are the same for all
// sizes.
struct InNetworkDeployment {
  InNetworkDeployment(const InNetworkProtocol& protocol, const UdpLayout& layout, std::int64_t elements);

  InNetworkProtocol protocol;
  std::int64_t elements;
  AtpDeployment atp = {};
  SwitchmlDeployment switchml = {};
  UdpMap map = {};
};

// Sums over the agents of one node or of several, but for the largest.
struct InNetworkStatistics {
  std::int64_t sent = 0, resent = 0, timeouts = 0, marks = 0;  // by workers, in packets
  std::int64_t overflows = 0;                                  // agents that were told of a sum that does not fit
  std::int64_t packets = 0, whole = 0, merged = 0;             // servers: of the message; that came as one sum; added there
  std::int64_t seen = 0, aggregated = 0, collisions = 0;       // switches
  std::int64_t malformed = 0;
  std::int64_t largest_window = 0, most_in_use = 0;

  void add(const InNetworkStatistics& other);
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
  NodeAgents(const InNetworkDeployment& deployment, int node, const WorkerMemory& memory = {});

  const std::vector<Seat>& seats() const { return seats_; }
  bool finished() const;
  std::int64_t packets_written() const;  // by a worker: where this stays the same, nothing moves
  // A line for each agent that has not finished, "worker 0 waits for ...".
  std::string waiting() const;
  // The first value or sum that did not fit, "" if none.
  std::string overflow() const;
  InNetworkStatistics statistics() const;

 private:
  void add_worker(const WorkerMemory& memory, const GradientValues::Place& place);

  std::string name_;
  FixedPoint point_;
  std::deque<GradientValues> values_;
  std::deque<AtpWorker> atp_workers_;
  std::deque<AtpServer> servers_;
  std::deque<AtpSwitch> switches_;
  std::deque<SwitchmlWorker> switchml_workers_;
  std::deque<SwitchmlSwitch> switchml_switches_;
  std::vector<Seat> seats_;
  std::int64_t server_packets_ = 0;
};

}  // namespace weft
