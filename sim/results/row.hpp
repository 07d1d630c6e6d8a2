// What a run of one algorithm at one size on one case says, as plain structs. Their fields are declared, with names, units and
// meanings, in row_fields.cpp: the files, the schema and the way between processes are made from that.
#pragma once

#include "collectives/schedule/schedule.hpp"
#include "kernels/base/units.hpp"
#include "kernels/dtype.hpp"
#include "sim/in_network/in_network_summary.hpp"
#include "sim/network/network_run.hpp"
#include "sim/packet/packet_report.hpp"
#include "sim/scenario/scenario.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft {

// A link (a cable, a NIC, a PCIe port) or the reduce engine of a rank, and for how long it was what a critical path went
// through as fast as it could.
struct LimitingResource {
  std::string name = {};
  SimTime time = {};
  friend bool operator==(const LimitingResource&, const LimitingResource&) = default;
};

// What the critical path of a job, from its first start to its last end, was spent on: the parts are the time. Of several
// iterations the mean.
struct CriticalPath {
  SimTime latency = {}, overhead = {}, waiting = {}, computing = {}, bandwidth = {};
  std::vector<LimitingResource> limits = {};  // of the bandwidth: the largest first, at most 16
  double limiting_share() const {
    const SimTime all = latency + overhead + waiting + computing + bandwidth;
    return limits.empty() ? 0.0 : static_cast<double>(limits.front().time.ps) / static_cast<double>(all.ps);
  }
  friend bool operator==(const CriticalPath&, const CriticalPath&) = default;
};

// A job of several that share the network; the workload is one of them.
struct JobResult {
  std::string name = {};
  std::string algorithm = {};                                    // label() of the choice
  std::optional<Collective> collective = Collective::allreduce;  // none: a program of several operations
  int ranks = 0;
  Bytes size = {};
  DType dtype = DType::float32;
  SimTime start = {};
  int iterations = 1;
  SimTime time = {}, least = {}, most = {};             // of an iteration: the mean, and between which they lie
  std::optional<SimTime> time_p05 = {}, time_p95 = {};  // of the mean, where the row stands for several runs
  SimTime alone = {};                                   // the mean where nobody else uses the fabric
  Bytes wire_bytes_per_rank = {};                       // in one iteration
  std::int64_t messages = 0;                            // in one iteration
  int steps = 0, max_flows_per_link = 0;
  int model_parallel = 1;                          // as in a row
  std::optional<CriticalPath> critical_path = {};  // where the network knows it
  double slowdown() const { return alone.ps > 0 ? static_cast<double>(time.ps) / static_cast<double>(alone.ps) : 1.0; }
  friend bool operator==(const JobResult&, const JobResult&) = default;
};

// What a training step is made of.
struct TrainingResult {
  std::string model = {}, engine = {};  // label() of the choice
  int batch_per_gpu = 0;
  SimTime compute = {};           // of a rank, on average
  SimTime exposed = {};           // the rest of the step: communication that nothing hides, and what follows
  SimTime stragglers = {};        // waiting for other ranks
  SimTime negotiation = {};       // waiting for the engine to say what is reduced
  SimTime events = {};            // of checkpoints, failures and growth, for each step of the run
  double samples_per_s = 0;       // of all ranks
  double scaling_efficiency = 0;  // compute of one GPU by itself / step time
  bool merged = false;            // steps of all-reduces were simulated together
  friend bool operator==(const TrainingResult&, const TrainingResult&) = default;
};

// What is sent of gradients that are not sent whole.
struct CompressionResult {
  std::string compression = {};  // label() of the choice
  SimTime kernels = {};          // of the time, or of a step: what the rank with most of it spends in the kernels of compression
  friend bool operator==(const CompressionResult&, const CompressionResult&) = default;
};

// What the failures of links and switches did.
struct FaultsResult {
  SimTime healthy = {};          // the time without them
  std::int64_t rerouted = 0;     // pairs of endpoints whose route was changed, once for each change
  std::int64_t interrupted = 0;  // messages that stood still for a time
  double slowdown(SimTime time) const { return healthy.ps > 0 ? static_cast<double>(time.ps) / static_cast<double>(healthy.ps) : 1.0; }
  friend bool operator==(const FaultsResult&, const FaultsResult&) = default;
};

// The row simulated again with something twice as fast.
struct WhatIf {
  std::string twice_as_fast = {};  // "leaf3->spine3", "all 64 links between leaf* and spine*"
  SimTime time = {};
  double change = 0;  // of the time: -0.5 takes half as long
  friend bool operator==(const WhatIf&, const WhatIf&) = default;
};

struct Row {
  std::string scenario = {};
  std::string fabric = {};  // its type
  NetworkKind network = NetworkKind::flow;
  std::string algorithm = {};                                    // label() of the choice
  std::string chosen = {};                                       // label() of what the algorithm is for the size, where it chooses
  std::optional<Collective> collective = Collective::allreduce;  // none: a program of several operations, of which `size` is the sum
  int ranks = 0;
  Bytes size = {};  // simulated: what was asked for, rounded down to whole elements (alltoall: equal blocks)
  DType dtype = DType::float32;
  ReduceOp op = ReduceOp::sum;
  SimTime time = {};  // from the first rank's start to the last rank's end; of several iterations the mean
  SimTime time_p05 = {}, time_p95 = {};
  int runs = 1;                     // of which `time` is the median; all else is of one whose time is nearest to that
  std::vector<SimTime> times = {};  // of all runs in their order, where there are several
  Bytes wire_bytes_per_rank = {};   // the most that any NIC sent
  std::int64_t messages = 0;
  int steps = 0;
  int max_flows_per_link = 0;         // between switches, in one step
  std::string most_shared_link = {};  // where that is, and in which step first; empty if no flow crosses switches
  int most_shared_step = 0;
  int model_parallel = 1;                          // parts that a model is split into: each is reduced among the ranks that have the same
  std::string busiest_link = {};                   // empty: nothing crossed a link
  double busiest_link_utilization = 0.0;           // bytes carried / (capacity x time)
  double wall_s = 0.0;                             // of the network simulation alone
  BitsPerSecond bottleneck = {};                   // the slowest endpoint link, which busbw cannot pass; 0: not known
  bool aggregates = false;                         // switches, of the network or of NVLink, or extra servers reduce, so busbw may pass it
  std::optional<CriticalPath> critical_path = {};  // where the network knows it
  std::vector<WhatIf> what_if = {};                // where that was asked for
  std::vector<CopyResult> copies = {};             // beside the collective
  std::vector<JobResult> jobs = {};                // where the network is shared: the workload, which the row is about, and those beside it
  std::vector<TrafficResult> traffic = {};
  std::optional<InNetworkSummary> in_network = {};   // where switches take part
  std::optional<PacketSummary> packet = {};          // on the network "packet"
  std::optional<TrainingResult> training = {};       // `time` is that of a step
  std::optional<FaultsResult> faults = {};           // where links or switches fail
  std::optional<CompressionResult> compressed = {};  // where the workload names one
  std::string notes = {};                            // lines on how the workload's trace and the server's NICs were taken
  std::string unproved = {};                         // which schedules were not proved, and why; empty: all were
  bool compresses() const { return compressed && compressed->compression != "dense"; }
  friend bool operator==(const Row&, const Row&) = default;
};

double busbw_factor(Collective, int ranks);  // nccl-tests' (doc/PERFORMANCE.md)

// Of a Row or a JobResult.
template <class R>
double algbw_GBps(const R& of) {
  return gigabytes_per_second(of.size, of.time) / of.model_parallel;
}
// Programs and compressed all-reduces have no bus bandwidth.
template <class R>
bool has_busbw(const R& of) {
  if constexpr (requires { of.compresses(); })
    if (of.compresses()) return false;
  return of.collective.has_value();
}
template <class R>
double busbw_GBps(const R& of) {
  return has_busbw(of) ? algbw_GBps(of) * busbw_factor(*of.collective, of.ranks / of.model_parallel) : 0.0;
}

// How evenly jobs are slowed down: 1 all the same, 1/n one runs and n - 1 stand still (Jain's index of their speeds, each
// relative to its own alone).
double fairness(const std::vector<JobResult>&);

// Of the packets of all jobs together.
double aggregated_share(const InNetworkSummary&);

// "ring 1MiB on star (4 ranks): busbw 13.1 GB/s passes ..." or empty: no fabric moves more than its links do.
std::string too_fast(const Row&);

// For the way from a worker process to the runner: everything, exactly.
std::string to_text(const Row&);
Row row_from_text(const std::string&);

}  // namespace weft
