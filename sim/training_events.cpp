#include "sim/training_events.hpp"

#include "models/server/server_fabric.hpp"
#include "sim/experiment.hpp"

#include <algorithm>
#include <map>

namespace weft {
namespace {

// The scenario once so many ranks are under way, without what happens between steps.
Scenario under_way(const Scenario& scenario, int ranks) {
  Scenario out = scenario;
  out.workload.ranks = ranks;
  out.workload.training.events.clear();
  out.workload.training.checkpoints = {};
  out.start_skew.reset();
  return out;
}

// Something that links carry, and how long it takes.
struct Phase {
  SimTime time = {};
  std::vector<double> utilization = {};  // by link; empty: of none
};

// Each part of a model is broadcast among the ranks that have it, and all parts at the same time: the time is that of the first, among
// ranks placed as those are. Jobs beside are left out.
Phase broadcast_of_parameters(const Scenario& scenario, int ranks, const Prover& prover) {
  Scenario alone = under_way(scenario, ranks);
  Workload& w = alone.workload;
  const int parts = w.training.model_parallel;
  if (ranks == parts) return {};
  const std::int64_t of_part = (w.training.model.table->parameters() + parts - 1) / parts;
  const Bytes parameters = Bytes{static_cast<std::int64_t>(size_of(w.dtype))} * of_part;
  if (parts > 1) {
    const std::vector<int> all = place(alone.placement, ranks, alone.fabric.spec, alone.server);
    alone.placement = {.policy = PlacementPolicy::list};
    for (int r = 0; r < ranks; r += parts) alone.placement.nodes.push_back(all[static_cast<std::size_t>(r)]);
    w.ranks = ranks / parts;
  }
  alone.jobs.clear();
  w.training = {};
  w.compressions = {};
  w.collective = Collective::broadcast;
  w.iterations = 1;
  w.sizes = {parameters};
  const AlgorithmChoice tree{"binomial_tree"};
  w.algorithms = {tree};
  Phase out;
  out.time = Experiment(std::move(alone), tree, {}, prover).run(parameters, {.utilization = &out.utilization}).time;
  return out;
}

// The run, step by step.
class Run {
 public:
  Run(const Scenario& scenario, const SimulatedJob& first, const Prover& prover, const Row& row)
      : scenario_(scenario),
        algorithm_(first.job.algorithm),
        fabric_(first.fabric),
        training_(scenario.workload.training),
        prover_(prover),
        ranks_(scenario.workload.ranks),
        busy_s_(static_cast<std::size_t>(fabric_.links())) {
    at_ranks_[ranks_] = {{row.time, utilization_of_links(first.all, fabric_, scenario)}, *row.training};
  }

  void go() {
    for (int step = 1; step <= scenario_.workload.iterations; ++step) {
      const AtRanks& now = at(ranks_);
      steps_ += now.phase.time;
      use(now.phase);
      compute_ += now.step.compute, stragglers_ += now.step.stragglers, negotiation_ += now.step.negotiation;
      samples_ += now.step.samples_per_s * now.phase.time.seconds();
      ideal_ += now.step.scaling_efficiency * now.phase.time.seconds();
      lost_.push_back(&now.phase);
      if (const Checkpoints& c = training_.checkpoints; c.every > 0 && step % c.every == 0) {
        events_ += state() / c.rate;
        lost_.clear();
        written_ = true;
      }
      for (const TrainingEvent& event : training_.events)
        if (event.after_step == step) happens(event);
    }
  }

  void report(Row& out) const {
    const std::int64_t n = scenario_.workload.iterations;
    const auto mean = [n](SimTime sum) { return SimTime{sum.ps / n}; };
    TrainingResult& step = *out.training;
    if (out.unproved.empty()) out.unproved = unproved_;
    out.time = out.time_p05 = out.time_p95 = mean(steps_ + events_);
    step.compute = mean(compute_);
    step.stragglers = mean(stragglers_);
    step.negotiation = mean(negotiation_);
    step.events = mean(events_);
    step.exposed = out.time - step.compute;
    step.samples_per_s = samples_ / (steps_ + events_).seconds();
    step.scaling_efficiency = ideal_ / (steps_ + events_).seconds();
    std::vector<double> utilization = busy_s_;
    for (double& one : utilization) one /= (steps_ + events_).seconds();
    name_busiest(utilization, fabric_, out);
  }

 private:
  struct AtRanks {
    Phase phase;
    TrainingResult step;
  };

  const AtRanks& at(int ranks) {
    const auto known = at_ranks_.find(ranks);
    if (known != at_ranks_.end()) return known->second;
    const Scenario alone = under_way(scenario_, ranks);
    Experiment other(alone, algorithm_, {}, prover_);
    Phase phase;
    const Row out = other.run(scenario_.workload.sizes.front(), {.each_alone = false, .utilization = &phase.utilization});
    phase.time = out.time;
    if (unproved_.empty()) unproved_ = out.unproved;
    return at_ranks_.emplace(ranks, AtRanks{std::move(phase), *out.training}).first->second;
  }

  void use(const Phase& phase) {
    for (std::size_t link = 0; link < phase.utilization.size(); ++link) busy_s_[link] += phase.utilization[link] * phase.time.seconds();
  }
  void between_steps(const Phase& phase) {
    events_ += phase.time;
    use(phase);
  }

  Bytes state() const { return state_of_parameter(training_.optimizer) * training_.model.table->parameters(); }

  void happens(const TrainingEvent& event) {
    events_ += event.pause;
    if (event.kind == TrainingEvent::Kind::growth) {
      ranks_ += event.ranks;
    } else {
      if (written_) events_ += state() / training_.checkpoints.rate;
      for (const Phase* again : lost_) between_steps(*again);
    }
    between_steps(broadcast_of_parameters(scenario_, ranks_, prover_));
  }

  const Scenario& scenario_;
  const AlgorithmChoice& algorithm_;
  const Fabric& fabric_;
  const TrainingChoice& training_;
  const Prover& prover_;
  int ranks_;
  std::map<int, AtRanks> at_ranks_;
  std::vector<double> busy_s_;      // by link
  std::vector<const Phase*> lost_;  // steps since the last checkpoint, which a failure undoes
  bool written_ = false;            // whether there is one
  SimTime steps_, events_, compute_, stragglers_, negotiation_;
  double samples_ = 0, ideal_ = 0;
  std::string unproved_;  // of the first number of ranks of which something was not proved
};

}  // namespace

void add_events(const Scenario& scenario, const SimulatedJob& first, const Prover& prover, Row& row) {
  const TrainingChoice& training = scenario.workload.training;
  if (training.events.empty() && training.checkpoints.every == 0) return;
  Run run(scenario, first, prover, row);
  run.go();
  run.report(row);
}

}  // namespace weft
