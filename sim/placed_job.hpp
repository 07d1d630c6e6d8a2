// The jobs of a row: placed on the cluster, their schedules proved right and routed.
#pragma once

#include "collectives/in_network/deployment.hpp"
#include "models/compressed_allreduce.hpp"
#include "models/fabric/analysis/link_load.hpp"
#include "models/fabric/routes.hpp"
#include "models/hardware.hpp"
#include "models/program.hpp"
#include "sim/network/network_run.hpp"
#include "sim/prover.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/training_job.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft {

// A schedule, proved right, and what follows from it where that is asked for.
struct ProvedSchedule {
  std::shared_ptr<const Schedule> schedule;
  std::optional<LinkLoad> load = {};
  std::shared_ptr<const MergedSchedule> merged = {};  // as the job's all-reduces are
};

// A job, placed and proved right: a schedule for any size, a program, training steps, or an in-network all-reduce.
struct PlacedJob {
  std::string name;
  AlgorithmChoice algorithm;
  std::string label;
  Collective collective = Collective::allreduce;
  int ranks = 0;    // without extra servers
  int servers = 0;  // that the ranks of a program are on
  DType dtype = DType::float32;
  std::optional<Bytes> own_size = {};  // instead of the row's
  Repetition repetition = {};
  std::vector<int> placement = {};
  BitsPerSecond bottleneck = {};  // what no bus bandwidth passes
  std::vector<SimTime> starts = {};
  std::optional<InNetworkSettings> aggregation = {};  // by switches, instead of a schedule or program
  std::shared_ptr<const Schedule> schedule = {};
  std::shared_ptr<const Program> program = {};
  std::vector<std::string> notes = {};
  std::optional<TrainingJob> training = {};             // all-reduces are runs of the schedule
  std::optional<CompressedAllreduce> compression = {};  // instead of the schedule
  bool kernels_on_gpu = false;                          // of the compression: while they run, the GPU does not compute
  LinkLoad load = {};
  Regime regime = {};
  AlgorithmChoice chosen = {};                 // what the algorithm is for the size
  std::shared_ptr<const Scenario> whole = {};  // where it is the workload
  std::shared_ptr<const Scenario> calls = {};  // what is asked of each call: of the ranks with the same part of a model
  std::map<std::pair<Collective, std::string>, ProvedSchedule> by_settings = {};
  std::vector<std::shared_ptr<const Schedule>> exchanges = {};         // of the compression, in order
  std::function<SizedSchedule(Bytes, bool apart)> all_reduce_of = {};  // of training, where something depends on its size

  bool in_network() const { return aggregation.has_value(); }
  std::int64_t element_bytes() const { return static_cast<std::int64_t>(size_of(dtype)); }

  std::int64_t elements(Bytes size) const {
    const std::int64_t elements = own_size.value_or(size).count / element_bytes();
    return schedule ? in_equal_blocks(*schedule, elements) : elements;
  }
  Bytes simulated_size(Bytes size) const {
    if (!program) return Bytes{elements(size) * element_bytes()};
    Bytes sum;
    for (const Call& call : program->calls) sum += Bytes{call.elements * call.element_bytes};
    return sum;
  }
  // Null where there is none: training steps, in-network all-reduces.
  std::shared_ptr<const Program> at(Bytes size) const {
    if (program && regime.cost != 1) {
      auto out = std::make_shared<Program>(*program);
      for (Call& call : out->calls) call.regime.cost = regime.cost;
      return out;
    }
    if (program || training || in_network()) return program;
    if (compression) return std::make_shared<const Program>(compression->program(elements(size)));
    Program out = program_of(*schedule, elements(size), element_bytes());
    out.calls.front().regime = regime;
    return std::make_shared<const Program>(std::move(out));
  }
  int steps() const {
    if (in_network()) return 2;  // gradients up, parameters down
    int sum = 0;
    if (compression) {
      for (const auto& exchange : exchanges) sum += exchange->steps();
      return sum;
    }
    if (training && training->push_pull(0)) return training->push_pull(0)->steps();
    if (schedule) return schedule->steps();
    for (const Call& call : program->calls) sum += call.schedule->steps();
    return sum;
  }
};

// A schedule that a job runs, on the endpoints of its ranks.
struct RoutedSchedule {
  std::shared_ptr<const Schedule> schedule;
  std::vector<int> placement;
};
// All of them, each once, for the size that was chosen; of an in-network job none.
std::vector<RoutedSchedule> routed_schedules(const PlacedJob& job);

// What schedules are proved and routed with.
struct Ground {
  Routes& routes;
  Prover& prover;
};

// What a job is called, where its ranks sit and when they start; no starts: all at 0.
struct JobSeat {
  std::string name;
  std::vector<int> placement;
  std::vector<SimTime> starts = {};
};

// The scenario's workload, or a job beside it. Throws RunError where its schedule is wrong.
PlacedJob placed_workload(const Scenario& scenario, const AlgorithmChoice& algorithm, JobSeat seat, const Ground& ground);
// A program instead of the workload.
PlacedJob placed_program(const Scenario& scenario, Program program, std::string label, std::vector<int> placement, Routes& routes);
// Those of "jobs"; `placements` are of the workload and of them.
void place_jobs_beside(const Scenario& scenario, const AlgorithmChoice& algorithm, const std::vector<std::vector<int>>& placements,
                       const Ground& ground, std::vector<PlacedJob>& out);

// Takes the schedule and the costs for a message of this size, where they depend on that.
void choose_for_size(PlacedJob& job, Bytes row_size, const HardwareProfile& hardware, const Ground& ground);

}  // namespace weft
