// The one road from a scenario to a result. An experiment is a cluster (fabric with its servers), the jobs of one row placed on
// it and proved right, and the routes between them; it is run as often as wanted, with other sizes or hardware profiles.
// `run`, `calibrate`, `replay`, `validate`, `lab`, `check` and `bench --compare` all simulate through it.
#pragma once

#include "models/fabric/analysis/link_load.hpp"
#include "models/program.hpp"
#include "sim/network/network_run.hpp"
#include "sim/network/shared_network.hpp"
#include "sim/network/timeline.hpp"
#include "sim/prover.hpp"
#include "sim/results/row.hpp"
#include "sim/scenario/algorithms.hpp"
#include "sim/scenario/scenario.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weft {

// What a run took to simulate: the same on every machine.
struct RunWork {
  std::int64_t messages = 0;
  std::uint64_t events = 0, solved_flows = 0;  // as NetworkRun has them
};

class Experiment {
 public:
  // One row of `scenario`; where it trains, with the first of its engines. Throws RunError when a schedule is wrong or, where the prover
  // refuses that, not proved, InputError when the scenario cannot be built. `cluster`: the fabric of another experiment whose scenario has
  // the same fabric and server.
  Experiment(Scenario scenario, const AlgorithmChoice& algorithm, std::shared_ptr<const Fabric> cluster = {}, Prover prover = Prover());
  // A program instead of the scenario's workload, which gives the ranks' placement and start. `label` names it in results.
  Experiment(Scenario scenario, Program program, std::string label, std::shared_ptr<const Fabric> cluster = {});
  ~Experiment();
  Experiment(Experiment&&) noexcept;

  struct Options {
    const HardwareProfile* hardware = nullptr;           // instead of the scenario's
    Timeline* timeline = nullptr;                        // receives who does what when, and how much links are used
    std::vector<OperationRecord>* operations = nullptr;  // receives every operation of the workload's program
    SimTime* mean_finish = nullptr;                      // receives how long after its start the workload's ranks end it, on average
    RunWork* work = nullptr;                             // receives what the run took; of jobs simulated alone, nothing
    const Regime* regime = nullptr;                      // of the workload's messages, instead of the one that its size has
    int calls = 1;                                       // of the workload where it is a collective: each rank's next begins as soon as
                                                         // its last has ended, and the time is that of all
    Around around = Around::nothing;                     // `engine`: in SimGrid's engine, once per process
    bool find_path = false;                              // what the critical path of each job was spent on
    bool each_alone = true;                              // jobs that share the network are each simulated alone too, to be compared;
                                                         // and what meets failures without them
    std::vector<SimTime>* job_times = nullptr;           // receives the mean time of each job, the workload first
    std::vector<double>* utilization = nullptr;          // receives that of each link, without what is between training steps
  };
  // `size`: of the workload where it is a collective. Throws RunError when no progress is possible, saying who waits for whom.
  Row run(Bytes size, const Options&);
  Row run(Bytes size) { return run(size, Options{}); }

  // Of each job, the workload first: the first link that its messages pass and whose rate depends on how many flows cross it.
  std::vector<std::optional<LinkId>> contended_links(Bytes size);

  const Scenario& scenario() const;
  std::shared_ptr<const Fabric> cluster() const;
  const LinkLoad& link_load() const;          // of the workload; nothing of an in-network algorithm
  const std::string& unproved() const;        // of its schedules, and why; empty: all are proved
  const std::vector<int>& placement() const;  // of the workload's ranks, extra servers behind them

 private:
  struct Parts;
  SimTime healthy_time(Bytes size, const HardwareProfile& hardware);  // of the scenario without failures

  std::unique_ptr<Parts> parts_;
};

// The time of one run with this hardware, as often as wanted: on networks that run once per process, in a child.
SimTime time_of(Experiment& experiment, Bytes size, const HardwareProfile& hardware, int calls = 1);

// One row in SimGrid's engine: once per process.
Row simulate(const Scenario& scenario, const AlgorithmChoice& algorithm, Bytes size, const Experiment::Options& options = {},
             Prover prover = Prover());

// When each rank of the workload starts; empty: all at 0.
std::vector<SimTime> starts_of(const Scenario& scenario);

}  // namespace weft
