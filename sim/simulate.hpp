// One row of a run: a resolved scenario, one algorithm, one size. Builds the fabric and the schedule, proves the schedule
// right, runs it on the scenario's network and says what happened on the links.
#pragma once

#include "sim/in_network/in_network_summary.hpp"
#include "sim/network/network_run.hpp"
#include "sim/packet/packet_report.hpp"
#include "sim/results/job_result.hpp"
#include "sim/scenario/algorithms.hpp"
#include "sim/scenario/scenario.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft {

struct Outcome {
  SimTime time;  // from the first rank's start to the last rank's end; of several iterations the mean
  int ranks = 0;
  Bytes size;                            // simulated: `size` rounded down to whole elements (alltoall: equal blocks)
  std::int64_t wire_bytes_per_rank = 0;  // the most any rank or extra server sent
  std::int64_t messages = 0;
  int steps = 0;
  int max_flows_per_link = 0;         // between switches, in one step
  std::string most_shared_link = {};  // where that is, and in which step first; empty if no flow crosses switches
  int most_shared_step = 0;
  std::string busiest_link = {};  // by bytes carried / (capacity x time); empty if nothing was carried
  double busiest_link_utilization = 0;
  bool aggregates = false;              // switches or hosts beside the ranks add, so busbw may pass what a rank's links carry
  std::vector<CopyRecord> copies = {};  // beside the collective
  std::vector<JobResult> jobs = {};     // where the network is shared: the workload first
  std::vector<TrafficResult> traffic = {};
  std::optional<InNetworkSummary> in_network = {};  // where switches take part
  std::optional<PacketSummary> packet = {};         // on the network "packet"
  std::uint64_t events = 0, solves = 0;
  double wall_s = 0;  // of the network simulation alone
};

// Once per process for networks that use SimGrid's engine (all of them so far). Throws RunError when the schedule is wrong
// or no progress is possible, InputError when the scenario cannot be built. `timeline`, if given, receives every message.
Outcome simulate(const Scenario& scenario, const AlgorithmChoice& algorithm, Bytes size, std::vector<MessageRecord>* timeline = nullptr);

// Jobs that share the network are each simulated alone too, to be compared.

// What `simulate` builds before it runs besides the schedule (request_of), for checks and exports.
std::vector<int> placement_of(const Scenario& scenario, const AlgorithmChoice& algorithm);
std::vector<SimTime> starts_of(const Scenario& scenario);

// Throws RunError with every flaw found: wrong contents, or a cost that is not the one its formula states.
void require_correct(const Schedule& schedule, const Request& request);

}  // namespace weft
