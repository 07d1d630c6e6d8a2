// All-reduces that switches take part in, beside whatever else uses the network: on `packet` the agents themselves
// (packet_agents.hpp), which carry values and whose sums are compared, on `flow` aggregation and multicast trees as flows
// (flow_trees.hpp).
#pragma once

#include "collectives/in_network/deployment.hpp"
#include "models/fabric/analysis/link_load.hpp"
#include "models/fabric/programmable.hpp"
#include "models/fabric/routes.hpp"
#include "models/hardware.hpp"
#include "sim/in_network/in_network_summary.hpp"
#include "sim/network/network_run.hpp"
#include "sim/network/shared_network.hpp"
#include "sim/packet/settings.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

// Whoever begins the rounds of an open job, such as a gradient engine with its orders.
class RoundOwner {
 public:
  virtual ~RoundOwner() = default;
  virtual void round_ended(int worker) = 0;  // now; rounds of a worker end in their order
  virtual Driver::State owner_state() const = 0;
  // Something else than rounds is under way, after which it may begin one.
  virtual bool may_begin_rounds() const = 0;
};

// Rounds of open jobs, begun worker by worker: each is a sum over all workers of its own size, all workers begin the same ones in the same
// order, and a worker need not wait for the end of one to begin the next. Overheads of hosts are the owner's.
class OpenJobs {
 public:
  virtual ~OpenJobs() = default;
  virtual void begin_round(std::size_t job, int worker, std::int64_t elements) = 0;  // now
  virtual bool stuck() const = 0;                                                    // nothing can come of what is under way any more
};

struct PlacedAggregation {
  InNetworkSettings settings;        // jobs that run at once have the same protocol, and differ in windows and servers only
  std::vector<int> workers;          // the endpoint of each
  std::int64_t elements = 0;         // 32-bit values; of an open job, in the largest round
  std::vector<SimTime> starts = {};  // of each worker; empty: all at 0
  Repetition repetition = {};
  std::string name = {};        // goes with what becomes of it
  RoundOwner* owner = nullptr;  // of an open job, which has no repetition and no starts

  SimTime first_start() const;
  SimTime start_of(std::size_t worker) const { return starts.empty() ? SimTime{} : starts[worker]; }
};

// Where they run.
struct InNetworkSite {
  Routes& routes;
  const HardwareProfile& hardware;
  const ProgrammableSwitches& switches;
  EcnSettings ecn = {};         // how long queues get
  double wire_share = 1;        // what a byte on the wire counts on the network's links (schedules: payload only)
  std::vector<int> taken = {};  // endpoints where others than these jobs are
};

struct InNetworkRun {
  struct OfJob {
    std::vector<Iteration> iterations = {};  // none of an open job
    std::int64_t max_sent = 0;               // bytes on the wire in all iterations, by the NIC that sent most
    std::int64_t messages = 0;               // datagrams, in all iterations
    BusiestLink between_switches = {};       // without collisions and retransmissions; step 0 is up, 1 down
  };
  std::vector<OfJob> jobs = {};
  std::vector<std::int64_t> bytes_on_link = {};  // on the wire, headers included; on `packet` its report has them
  InNetworkSummary summary = {};                 // of jobs without names
};

}  // namespace weft
