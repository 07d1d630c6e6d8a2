// The one road from a scenario to a result. An experiment is a cluster (fabric with its servers), the jobs of one row placed on
// it and proved right, and the routes between them; it is run as often as wanted, with other sizes or hardware profiles.
// `run`, `calibrate`, `replay`, `validate`, `lab`, `check` and `bench --compare` all simulate through it.
#pragma once

#include "models/fabric/link_load.hpp"
#include "models/program.hpp"
#include "sim/in_network/in_network_summary.hpp"
#include "sim/network/network_run.hpp"
#include "sim/network/shared_network.hpp"
#include "sim/packet/packet_report.hpp"
#include "sim/results/job_result.hpp"
#include "sim/scenario/algorithms.hpp"
#include "sim/scenario/scenario.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weft {

// What a training step is made of.
struct StepOutcome {
  std::string model, engine;
  int batch_per_gpu = 0;
  SimTime compute;                // of a rank, on average
  SimTime exposed;                // the rest of the step: communication that nothing hides, and what follows
  SimTime stragglers;             // waiting for other ranks
  SimTime negotiation;            // waiting for the engine to say what is reduced
  SimTime events;                 // of checkpoints, failures and growth, for each step of the run
  double samples_per_s = 0;       // of all ranks
  double scaling_efficiency = 0;  // compute of one GPU by itself / step time
  bool merged = false;            // steps of all-reduces were simulated together
};

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
  std::optional<StepOutcome> step = {};             // of a workload that trains; `time` is that of a step
  std::uint64_t events = 0, solves = 0;
  double wall_s = 0;  // of the network simulation alone
};

class Experiment {
 public:
  // One row of `scenario`; where it trains, with the first of its engines. Throws RunError when a schedule is wrong, InputError when the
  // scenario cannot be built. `cluster`: the fabric of another experiment whose scenario has the same fabric and server.
  Experiment(Scenario scenario, const AlgorithmChoice& algorithm, std::shared_ptr<const Fabric> cluster = {});
  // A program instead of the scenario's workload, which gives the ranks' placement and start. `label` names it in results.
  Experiment(Scenario scenario, Program program, std::string label, std::shared_ptr<const Fabric> cluster = {});
  ~Experiment();
  Experiment(Experiment&&) noexcept;

  struct Options {
    const HardwareProfile* hardware = nullptr;           // instead of the scenario's
    std::vector<MessageRecord>* timeline = nullptr;      // receives every message of the workload
    std::vector<SpanRecord>* spans = nullptr;            // receives what each rank of a training job does
    std::vector<OperationRecord>* operations = nullptr;  // receives every operation of the workload's program
    Around around = Around::nothing;                     // `engine`: in SimGrid's engine, once per process
    bool each_alone = true;                              // jobs that share the network are each simulated alone too, to be compared
  };
  // `size`: of the workload where it is a collective. Throws RunError when no progress is possible, saying who waits for whom.
  Outcome run(Bytes size, const Options&);
  Outcome run(Bytes size) { return run(size, Options{}); }

  const Scenario& scenario() const;
  std::shared_ptr<const Fabric> cluster() const;
  const LinkLoad& link_load() const;          // of the workload; nothing of an in-network algorithm
  const std::vector<int>& placement() const;  // of the workload's ranks, extra servers behind them

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// The time of one run with this hardware, as often as wanted: on networks that run once per process, in a child.
SimTime time_of(Experiment& experiment, Bytes size, const HardwareProfile& hardware);

// One row in SimGrid's engine: once per process.
Outcome simulate(const Scenario& scenario, const AlgorithmChoice& algorithm, Bytes size, std::vector<MessageRecord>* timeline = nullptr,
                 std::vector<SpanRecord>* spans = nullptr);

// When each rank of the workload starts; empty: all at 0.
std::vector<SimTime> starts_of(const Scenario& scenario);

// Throws RunError with every flaw found: wrong contents, or a cost that is not the one its formula states.
void require_correct(const Schedule& schedule, const Request& request);

}  // namespace weft
