// Training steps of a scenario, ready to be placed: what ranks compute, what engines reduce, and who takes part in what.
#pragma once

#include "sim/scenario/scenario.hpp"
#include "sim/training/training_driver.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace weft {

class TrainingJob {
 public:
  // With the first of the scenario's engines. `schedule`: of an all-reduce of the ranks with the same part of the model. `placement`: of
  // all ranks, then of the schedule's servers, then of the engine's.
  TrainingJob(const Scenario& scenario, const Schedule& schedule, const std::vector<int>& placement);

  int parts() const { return static_cast<int>(placements_.size()); }
  const std::vector<int>& placement(int part) const { return placements_[static_cast<std::size_t>(part)]; }
  bool merged() const { return merged_ != nullptr; }
  Bytes size() const { return step_.size(); }  // of all gradients
  SimTime alone() const { return alone_; }     // the step of one GPU by itself

  // Of all-reduces of this size and more; merged where the others are.
  SizedSchedule sized(Bytes from, std::shared_ptr<const Schedule> schedule, const Regime& regime) const;

  // The job must outlive what is placed.
  PlacedTraining placed(int part, const Schedule& schedule, const HardwareProfile& hardware, std::span<const SimTime> starts) const;

 private:
  void merge_if_wanted(const Scenario& scenario, const Schedule& schedule);

  TrainingStep step_;
  SimTime alone_;
  EngineSettings engine_;
  EngineSetup replicas_;
  std::int64_t element_bytes_ = 4;
  bool forward_by_layer_ = false;
  Stragglers stragglers_;
  std::vector<std::vector<int>> placements_;  // by part
  std::vector<std::vector<Rank>> members_;    // by part; empty where there is one
  std::vector<int> servers_;                  // endpoints of the engine's parameter servers
  std::shared_ptr<const Schedule> push_pull_;
  std::shared_ptr<const MergedSchedule> merged_;
};

}  // namespace weft
