// One simulated row: what a run of one algorithm at one size on one case says.
#pragma once

#include "collectives/schedule/schedule.hpp"
#include "kernels/base/units.hpp"
#include "kernels/dtype.hpp"
#include "sim/in_network/in_network_summary.hpp"
#include "sim/packet/packet_report.hpp"
#include "sim/results/job_result.hpp"
#include "sim/scenario/json_text.hpp"
#include "sim/scenario/scenario.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace weft {

// The copies between one GPU and host memory that ended beside the collective.
struct CopyResult {
  int gpu = 0;
  bool to_host = false;
  std::int64_t count = 0;
  Bytes bytes;   // of all of them
  SimTime busy;  // their durations, summed
  double GBps() const { return busy.ps > 0 ? static_cast<double>(bytes.count) * 1000.0 / static_cast<double>(busy.ps) : 0.0; }
  friend bool operator==(const CopyResult&, const CopyResult&) = default;
};

struct Row {
  std::string scenario = {};
  std::string fabric = {};  // its type
  NetworkKind network = NetworkKind::flow;
  std::string algorithm = {};  // label() of the choice
  Collective collective = Collective::allreduce;
  bool program = false;  // several operations, of which `size` is the sum
  int ranks = 0;
  Bytes size = {};
  DType dtype = DType::float32;
  ReduceOp op = ReduceOp::sum;
  Rank root = 0;
  SimTime time = {};
  Bytes wire_bytes_per_rank = {};  // the most that any NIC sent
  std::int64_t messages = 0;
  int steps = 0;
  int max_flows_per_link = 0;
  std::string most_shared_link = {};  // the link of max_flows_per_link, empty if there is none, and the first step that is so
  int most_shared_step = 0;
  std::string busiest_link = {};          // empty: nothing crossed a link
  double busiest_link_utilization = 0.0;  // bytes carried / (capacity x time)
  double wall_s = 0.0;                    // of simulating this row
  BitsPerSecond bottleneck = {};          // the slowest endpoint link, which busbw cannot pass; 0: not known
  bool aggregates = false;                // switches or extra servers reduce, so busbw may pass it
  std::vector<CopyResult> copies = {};
  std::vector<JobResult> jobs = {};  // where the network is shared: the workload, which the row is about, and those beside it
  std::vector<TrafficResult> traffic = {};
  std::optional<InNetworkSummary> in_network = {};  // where switches take part
  std::optional<PacketSummary> packet = {};         // on the network "packet"
  std::string model = {};                           // what is trained; empty: nothing is, and what follows does not apply
  std::string engine = {};                          // label() of the choice
  int batch_per_gpu = 0;
  SimTime compute = {}, exposed = {};                      // `time` is their sum, that of a step
  SimTime stragglers = {}, negotiation = {}, events = {};  // in `exposed`: what is not communication
  double samples_per_s = 0;
  double scaling_efficiency = 0;
  bool merged = false;  // steps of its all-reduces were simulated together
  friend bool operator==(const Row&, const Row&) = default;
};

double algbw_GBps(const Row&);               // size / time
double busbw_factor(Collective, int ranks);  // nccl-tests' (doc/PERFORMANCE.md)
double busbw_GBps(const Row&);

// The row of another of its jobs. Links and copies are those of the whole run.
Row row_of_job(const Row&, const JobResult&);

// How evenly jobs are slowed down: 1 all the same, 1/n one runs and n - 1 stand still (Jain's index of their speeds, each
// relative to its own alone).
double fairness(const std::vector<JobResult>&);

// "ring 1MiB on star (4 ranks): busbw 13.1 GB/s passes ..." or empty: no fabric moves more than its links do.
std::string too_fast(const Row&);

// The columns of results.csv and the keys of a row in results.json, in this order.
struct Column {
  std::string name;
  std::function<Json(const Row&)> value;
};
const std::vector<Column>& columns();

// Further columns, after those: for runs in which jobs share the network.
struct JobColumn {
  std::string name;
  std::function<Json(const JobResult&)> value;
};
const std::vector<JobColumn>& job_columns();

// For the way from a worker process to the runner: everything, exactly.
std::string to_text(const Row&);
Row row_from_text(const std::string&);

}  // namespace weft
