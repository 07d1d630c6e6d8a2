#include "sim/training_job.hpp"

#include "collectives/engines/push_pull.hpp"
#include "sim/scenario/algorithms.hpp"

#include <algorithm>

namespace weft {
namespace {

// Above, steps of all-reduces are merged: about a second on one core.
constexpr std::int64_t most_messages = 1'000'000;
constexpr int merged_pieces = 2;

// All-reduces of a step, where that does not depend on the run: of Horovod a start, one for each cycle or gradient.
std::int64_t orders_of(const EngineSettings& engine, const TrainingStep& step) {
  if (std::holds_alternative<NoneSettings>(engine)) return 1;
  if (const auto* ddp = std::get_if<DdpSettings>(&engine)) return static_cast<std::int64_t>(ddp_buckets(*ddp, step.gradients).size());
  if (const auto* aiacc = std::get_if<AiaccSettings>(&engine)) return step.size().count / aiacc->granularity.count + 1;
  return static_cast<std::int64_t>(step.gradients.size());
}

}  // namespace

TrainingJob::TrainingJob(const Scenario& scenario, const Schedule& schedule, const std::vector<int>& placement) {
  const Workload& workload = scenario.workload;
  const TrainingChoice& training = workload.training;
  const Model& model = *training.model.table;
  const Bytes computed{static_cast<std::int64_t>(size_of(workload.dtype))};
  const Bytes on_wire{static_cast<std::int64_t>(size_of(training.gradient_dtype.value_or(workload.dtype)))};
  const StepTimes times =
      compute_times(model, *training.device.profile,
                    {.batch = training.batch_per_gpu, .dtype = std::string(name_of(workload.dtype)), .optimizer = training.optimizer});
  step_ = training_step(model, times, *training.device.profile,
                        {.computed = computed, .on_wire = on_wire, .nan_check = training.nan_check, .parts = training.model_parallel});
  alone_ =
      training_step(model, times, *training.device.profile, {.computed = computed, .on_wire = computed, .parts = training.model_parallel})
          .compute();
  engine_ = training.engines.front().settings;
  replicas_ = replicas_of(scenario);
  element_bytes_ = on_wire.count;
  forward_by_layer_ = training.forward_by_layer;
  stragglers_ = training.stragglers;

  const int parts = training.model_parallel, all = schedule.workers() * parts;
  for (int part = 0; part < parts; ++part) {
    std::vector<int>& places = placements_.emplace_back();
    std::vector<Rank>& members = members_.emplace_back();
    for (Rank r = part; r < all; r += parts) {
      places.push_back(placement[static_cast<std::size_t>(r)]);
      members.push_back(r);
    }
    const auto servers = placement.begin() + all;
    places.insert(places.end(), servers, servers + schedule.servers);
    for (int s = 0; s < schedule.servers; ++s) members.push_back(all + s);
    if (parts == 1) members.clear();
  }
  if (const auto* byteps = std::get_if<BytepsSettings>(&engine_)) {
    const int gpus = replicas_.ranks % replicas_.ranks_per_server == 0 ? replicas_.ranks_per_server : 1;
    push_pull_ = std::make_shared<Schedule>(push_pull(replicas_.ranks, gpus));
    const int machines = replicas_.ranks / gpus;
    for (int s = 0; s < byteps_servers(*byteps, replicas_); ++s)
      servers_.push_back(byteps->server_hosts == ServerHosts::extra
                             ? placement[static_cast<std::size_t>(all + schedule.servers + s)]
                             : placements_.front()[static_cast<std::size_t>(s % machines * gpus + s / machines % gpus)]);
  }
  merge_if_wanted(scenario, schedule);
}

void TrainingJob::merge_if_wanted(const Scenario& scenario, const Schedule& schedule) {
  const TrainingDetail detail = scenario.workload.training.detail;
  if (detail == TrainingDetail::messages || push_pull_ || schedule.messages() == 0) return;
  const Int128 messages = Int128{schedule.messages()} * orders_of(engine_, step_) * scenario.workload.iterations * parts();
  if (detail == TrainingDetail::automatic && messages <= most_messages) return;
  auto merged = std::make_shared<MergedSchedule>(merge_steps(schedule, merged_pieces));
  if (merged->schedule.steps() < schedule.steps()) merged_ = std::move(merged);
}

SizedSchedule TrainingJob::sized(Bytes from, std::shared_ptr<const Schedule> schedule, const Regime& regime) const {
  auto merged = std::make_shared<MergedSchedule>(merged_ ? merge_steps(*schedule, merged_pieces) : MergedSchedule{*schedule, {}});
  return {.from = from, .schedule = std::move(merged), .regime = regime};
}

PlacedTraining TrainingJob::placed(int part, const Schedule& schedule, const HardwareProfile& hardware,
                                   std::span<const SimTime> starts) const {
  const auto p = static_cast<std::size_t>(part);
  PlacedTraining out{.step = step_,
                     .engine = engine_,
                     .schedule = merged_ ? merged_->schedule : schedule,
                     .push_pull = push_pull_.get(),
                     .servers = servers_,
                     .element_bytes = element_bytes_,
                     .ranks_per_server = replicas_.ranks_per_server,
                     .placement = placements_[p],
                     .hardware = hardware,
                     .forward_by_layer = forward_by_layer_,
                     .members = members_[p]};
  if (merged_) out.stands_for = merged_->stands_for;
  const auto global = [members = members_[p]](Rank r) { return members.empty() ? r : members[static_cast<std::size_t>(r)]; };
  if (!starts.empty())
    for (Rank r = 0; r < schedule.ranks; ++r) out.start.push_back(starts[std::min(static_cast<std::size_t>(global(r)), starts.size() - 1)]);
  if (stragglers_.spread > 0)
    out.slowdown = [global, s = stragglers_](Rank r, int step) {
      const Rank rank = global(r);
      if (!s.ranks.empty() && std::ranges::find(s.ranks, rank) == s.ranks.end()) return 1.0;
      return slowdown(s.seed, rank, step, s.spread);
    };
  return out;
}

}  // namespace weft
