// What a scenario's cluster says to a measurement, in this process: the same experiment that `weft run` makes (sim/experiment.hpp),
// prepared once and run as often as a fit asks.
#pragma once

#include "models/nccl_tuning.hpp"
#include "sim/cases/sized.hpp"
#include "sim/cli/fitted_cluster.hpp"
#include "sim/experiment.hpp"
#include "sim/scenario/scenario.hpp"
#include "validation/fit/large_calls.hpp"
#include "validation/measurements/measurement.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include <boost/functional/hash.hpp>

namespace weft {

// About what simulating a message takes, as Simulator::work counts it.
inline constexpr std::int64_t work_of_a_message = 5;

class Simulator {
 public:
  // Throws InputError if the fabric cannot be built.
  explicit Simulator(Scenario scenario);

  const Scenario& scenario() const { return scenario_; }
  int gpus_of_a_node() const { return scenario_.server.gpu_count(); }
  // Servers that the scenario can have: as many as wanted on a star, which grows with what is measured; else those of its fabric.
  bool has_nodes(int nodes) const;
  int nodes() const;

  // Microseconds, as the measurement counts them: of a bandwidth, one message's share of all that were on their way.
  double time_us(const MeasuredSetup& setup, const HardwareProfile& hardware);

  // The same, but calls of more messages than these are told from smaller ones (large_calls.hpp).
  double told_us(const MeasuredSetup& setup, const HardwareProfile& hardware);
  void tell_beyond(std::int64_t messages);
  bool is_told(const MeasuredSetup& setup, const HardwareProfile& hardware);
  std::int64_t count_messages(const MeasuredSetup& setup, const HardwareProfile& hardware);

  // Within a few percent of that on few servers, tens of percent on rings over many, from few and short simulations for many profiles:
  // calls of NCCL on a lattice of the factors that they feel, those in many pieces in fewer and larger ones, and rings over many servers
  // over fewer, whose time is right at one place of the lattice, and long ones as shorter ones.
  double about_us(const MeasuredSetup& setup, const HardwareProfile& hardware);

  // The call as a profile's costs by size name it.
  CostAtSize call_of(const MeasuredSetup& setup, const HardwareProfile& hardware);

  // Of a call of NCCL what it runs: a ring, a tree, ... with which protocol; nothing of others.
  std::optional<Regime> nccl_regime(const MeasuredSetup& setup, const HardwareProfile& hardware);
  // All that it may run, whatever it expects of them.
  std::vector<Regime> nccl_choices(const MeasuredSetup& setup);

  // Those of the messages that it sends, each once; none of a call of NCCL, or on a network that runs once.
  std::vector<std::int64_t> message_sizes(const MeasuredSetup& setup, const HardwareProfile& hardware);

  // How far behind the best of its choices NCCL's is, by the profile's own factors (nccl_regret), at this size and at twice of it;
  // 0 where it has no choice.
  double regret(const MeasuredSetup& setup, const HardwareProfile& hardware);

  // What all simulations took so far: events, messages and flows whose shares were solved, each some 0.1 us, what starts a run, and
  // times that were known already. The same on every machine.
  std::int64_t work() const { return work_; }
  // Of one simulation of it.
  std::int64_t work_of(const MeasuredSetup& setup);

  // What keeps its algorithm from running among its ranks.
  std::vector<Problem> problems(const MeasuredSetup& setup);
  // The least time in which any algorithm without aggregation can do it on links that cost nothing but their bandwidth.
  double wire_limit_us(const MeasuredSetup& setup) const;
  // What its algorithm takes in the scenario with every cost of the profile at its least, told where it is large: latencies and rates of
  // links, and nothing else. Of NCCL's, among which the profile's biases choose, the first that takes no more than `enough_us`, or else
  // the fastest.
  double least_us(const MeasuredSetup& setup, double enough_us);
  // The resource whose rate most of that time goes by; empty where latencies take longer than bandwidth.
  std::string limit_of_least(const MeasuredSetup& setup);
  // Over one switch, over several, or both: the ways between servers that neighbours among the ranks, and the first rank and all others,
  // are apart.
  std::set<PathClass> ways_between_servers(const MeasuredSetup& setup);
  // Over how many switches these ways go, and what links are between those.
  std::optional<WaysBetweenServers> switches_between_servers(const MeasuredSetup& setup);
  // What the cables alone take for the message of a latency; 0 of anything else.
  double path_latency_us(const MeasuredSetup& setup) const;

 private:
  // Of setups that one experiment is for: those of all sizes, but of a message between two ranks, whose chunks are bytes, one size.
  struct OfOneExperiment {
    std::size_t operator()(const MeasuredSetup& setup) const;
    bool operator()(const MeasuredSetup& a, const MeasuredSetup& b) const;
  };
  // An experiment, built when it is first run, the algorithm that it runs, and the times that were simulated already, by size and all that
  // they depend on.
  struct Prepared {
    Scenario scenario;
    AlgorithmChoice algorithm;
    std::shared_ptr<const Fabric> cluster;
    std::vector<int> placement = {};
    std::optional<Experiment> experiment = {};
    std::optional<Cost> cost = {};  // once asked
    std::unordered_map<std::vector<double>, double, boost::hash<std::vector<double>>> known_us = {};
    std::map<std::int64_t, std::vector<ToldFrom>> told_from = {};  // by size
    std::map<std::vector<double>, double> of_whole = {};           // time over that in fewer pieces or servers, by size and regime
    std::map<std::vector<double>, SizedChoice> chosen = {};        // by size and all else that the choice depends on
    std::optional<NcclQuestion> question = {};                     // once asked
    std::map<std::int64_t, std::int64_t> work_of_size = {};
  };
  Prepared& prepared(const MeasuredSetup& setup);
  Experiment& experiment_of(Prepared& of);
  const Cost& cost_of(Prepared& of);
  double simulated_us(const MeasuredSetup& setup, const HardwareProfile& hardware);
  SimTime run(Prepared& of, Bytes size, const Experiment::Options& options);
  // As it was chosen for its size; what it is told from, none where it is simulated; its time, with costs of this regime.
  MeasuredSetup as_it_is_run(const MeasuredSetup& setup, const HardwareProfile& hardware, Prepared& of);
  const std::vector<ToldFrom>& told_from(const MeasuredSetup& chosen);
  double told_besides_overhead_us(const MeasuredSetup& chosen, const HardwareProfile& hardware, const Regime& regime);
  double told_simulated_us(const MeasuredSetup& setup, const HardwareProfile& hardware);
  double besides_overhead_us(const MeasuredSetup& setup, const HardwareProfile& hardware, const Regime& regime, Prepared& of);
  static bool is_alone(const Scenario& scenario);
  bool is_long_ring(const MeasuredSetup& setup, const Regime& regime) const;
  SizedChoice sized(const MeasuredSetup& setup, const HardwareProfile& hardware, Prepared& of);
  const NcclQuestion* question_of(const MeasuredSetup& setup);  // none where NCCL has no choice
  Regime regime_of(const MeasuredSetup& setup, const HardwareProfile& hardware, Prepared& of);
  Scenario asked_for(const MeasuredSetup& setup) const;
  std::shared_ptr<const Fabric> cluster_of(const Scenario& asked);

  Scenario scenario_;
  std::shared_ptr<const Fabric> fabric_;
  int min_servers_;                                               // that a large call is told from
  std::map<std::int64_t, std::shared_ptr<const Fabric>> larger_;  // stars of more nodes than the scenario's
  std::unordered_map<MeasuredSetup, Prepared, OfOneExperiment, OfOneExperiment> prepared_;
  std::int64_t work_ = 0;
  std::int64_t max_messages_ = 100'000;  // some 0.1 s
};

}  // namespace weft
