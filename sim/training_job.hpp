// Training steps of a scenario, ready to be placed: what ranks compute, what engines reduce, and who takes part in what.
#pragma once

#include "sim/scenario/scenario.hpp"
#include "sim/training/training_driver.hpp"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace weft {

class TrainingJob {
 public:
  // With the first of the scenario's engines. `schedule`: of an all-reduce of the ranks with the same part of the model. `placement`: of
  // all ranks, then of the schedule's servers, then of the engine's.
  TrainingJob(const Scenario& scenario, const Schedule& schedule, const std::vector<int>& placement);

  int parts() const { return static_cast<int>(parts_.size()); }
  const std::vector<int>& placement(int part) const { return parts_[static_cast<std::size_t>(part)].placement; }
  // What the engine does with a partition, its parameter server the last rank, instead of the schedule; null where it has no servers.
  const std::shared_ptr<const Schedule>& push_pull(int part) const { return parts_[static_cast<std::size_t>(part)].push_pull; }
  // The endpoints of its parameter servers, which are called as if they were ranks behind all others, part by part.
  std::vector<int> servers(int part) const;
  // Where steps of its all-reduces are merged, unless these are run apart: how many messages that leaves, about.
  std::optional<std::int64_t> merged_messages() const { return merged_messages_; }
  // Whether its all-reduces follow one another and nothing else is sent, so that they may be run apart; or, where steps would be merged
  // otherwise, only a few bytes of negotiation, which are then taken to slow nothing down.
  bool may_run_apart() const { return may_run_apart_; }
  Bytes size() const { return step_.size(); }  // of all gradients
  std::int64_t elements() const { return size().count / element_bytes_; }
  SimTime alone() const { return alone_; }  // the step of one GPU by itself

  // The schedule of an all-reduce, merged where the others are; null where they are not.
  std::shared_ptr<const MergedSchedule> merged_as_others(const Schedule& schedule) const;

  // The job must outlive what is placed. Apart: each message of an all-reduce by itself; where steps would be merged otherwise, in chunks
  // of one size.
  PlacedTraining placed(int part, const Schedule& schedule, const HardwareProfile& hardware, std::span<const SimTime> starts,
                        bool apart) const;

 private:
  struct Part {
    std::vector<int> placement = {};
    std::vector<Rank> members = {};  // empty where there is one part
    int machines = 1;
    std::vector<PlacedServer> servers = {};          // of the engine
    std::shared_ptr<const Schedule> push_pull = {};  // of a partition, to any of them
  };
  void merge_if_wanted(const Scenario& scenario, const Schedule& schedule);

  TrainingStep step_;
  SimTime alone_;
  EngineSettings engine_;
  std::int64_t element_bytes_ = 4;
  bool forward_by_layer_ = false;
  Stragglers stragglers_;
  bool may_run_apart_ = false;
  std::vector<Part> parts_;
  std::shared_ptr<const MergedSchedule> merged_;
  std::optional<std::int64_t> merged_messages_;
};

}  // namespace weft
