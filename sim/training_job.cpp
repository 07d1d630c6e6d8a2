#include "sim/training_job.hpp"

#include "collectives/engines/push_pull.hpp"
#include "sim/scenario/algorithms.hpp"

#include <algorithm>

namespace weft {
namespace {

// Above, steps of all-reduces are merged: about a second on one core.
constexpr std::int64_t max_messages = 1'000'000;
constexpr int merged_pieces = 2;

// All-reduces of a step, at most, or nearly so: of Horovod, which reduces in a cycle what has become ready, those of as many cycles as a
// backward pass has, and of buffers that are full.
std::int64_t orders_of(const EngineSettings& engine, const TrainingStep& step) {
  if (std::holds_alternative<NoneSettings>(engine)) return 1;
  if (const auto* ddp = std::get_if<DdpSettings>(&engine)) return static_cast<std::int64_t>(ddp_buckets(*ddp, step.gradients).size());
  if (const auto* aiacc = std::get_if<AiaccSettings>(&engine)) return step.size().count / aiacc->granularity.count + 1;
  const auto gradients = static_cast<std::int64_t>(step.gradients.size());
  const auto* horovod = std::get_if<HorovodSettings>(&engine);
  if (!horovod || horovod->cycle_time.ps == 0 || horovod->fusion_threshold.count == 0) return gradients;
  SimTime backward;
  for (const TrainingStep::Backward& layer : step.backward) backward += layer.duration;
  return std::min(gradients, backward.ps / horovod->cycle_time.ps + 2 + step.size().count / horovod->fusion_threshold.count);
}

// The endpoints of parameter servers: `extra`, or one on each machine in turn, beside another of its ranks each time.
std::vector<int> servers_of(const BytepsSettings& byteps, const std::vector<int>& machines, const std::vector<int>& placement,
                            std::span<const int> extra) {
  std::vector<std::vector<int>> hosts(static_cast<std::size_t>(std::ranges::max(machines)) + 1);
  for (std::size_t r = 0; r < machines.size(); ++r) hosts[static_cast<std::size_t>(machines[r])].push_back(placement[r]);
  const auto servers = static_cast<std::size_t>(byteps_servers(byteps, {.machines = static_cast<int>(hosts.size())}));
  std::vector<int> out;
  for (std::size_t s = 0; s < servers; ++s) {
    const std::vector<int>& host = hosts[s % hosts.size()];
    out.push_back(byteps.server_hosts == ServerHosts::extra ? extra[s] : host[s / hosts.size() % host.size()]);
  }
  return out;
}

}  // namespace

TrainingJob::TrainingJob(const Scenario& scenario, const Schedule& schedule, const std::vector<int>& placement) {
  const Workload& workload = scenario.workload;
  const TrainingChoice& training = workload.training;
  const Model& model = *training.model.table;
  const Bytes computed{static_cast<std::int64_t>(size_of(workload.dtype))};
  const Bytes on_wire{static_cast<std::int64_t>(size_of(training.gradient_dtype.value_or(workload.dtype)))};
  const StepTimes times = compute_times(model, *training.device.profile, workload.compute_request());
  step_ = training_step(model, times, *training.device.profile,
                        {.computed = computed, .on_wire = on_wire, .nan_check = training.nan_check, .parts = training.model_parallel});
  alone_ =
      training_step(model, times, *training.device.profile, {.computed = computed, .on_wire = computed, .parts = training.model_parallel})
          .compute();
  engine_ = training.engines.front().settings;
  if (auto* ddp = std::get_if<DdpSettings>(&engine_)) *ddp = as_sent(*ddp, computed, on_wire);
  element_bytes_ = on_wire.count;
  forward_by_layer_ = training.forward_by_layer;
  stragglers_ = training.stragglers;

  const int parts = training.model_parallel, all = schedule.workers() * parts;
  const std::span<const int> servers = std::span(placement).subspan(static_cast<std::size_t>(all));
  const std::span<const int> extra = servers.subspan(static_cast<std::size_t>(schedule.servers));  // of the engine
  Rank next_server = all + schedule.servers;
  for (int p = 0; p < parts; ++p) {
    Part& part = parts_.emplace_back();
    for (Rank r = p; r < all; r += parts) {
      part.placement.push_back(placement[static_cast<std::size_t>(r)]);
      part.members.push_back(r);
    }
    const std::vector<int> machines = machines_of(part.placement, scenario.server);
    part.machines = std::ranges::max(machines) + 1;
    if (const auto* byteps = std::get_if<BytepsSettings>(&engine_)) {
      part.push_pull = std::make_shared<Schedule>(weft::push_pull(machines));
      for (const int endpoint : servers_of(*byteps, machines, part.placement, extra)) part.servers.push_back({endpoint, next_server++});
    }
    part.placement.insert(part.placement.end(), servers.begin(), servers.begin() + schedule.servers);
    for (int s = 0; s < schedule.servers; ++s) part.members.push_back(all + s);
    if (parts == 1) part.members.clear();
  }
  merge_if_wanted(scenario, schedule);
  const bool sends_nothing_else = std::holds_alternative<NoneSettings>(engine_) || std::holds_alternative<DdpSettings>(engine_);
  const bool negotiates = std::holds_alternative<HorovodSettings>(engine_);
  may_run_apart_ = training.detail != TrainingDetail::merged && (sends_nothing_else || (negotiates && merged_));
}

std::vector<int> TrainingJob::servers(int part) const {
  std::vector<int> out;
  for (const PlacedServer& server : parts_[static_cast<std::size_t>(part)].servers) out.push_back(server.endpoint);
  return out;
}

void TrainingJob::merge_if_wanted(const Scenario& scenario, const Schedule& schedule) {
  const TrainingDetail detail = scenario.workload.training.detail;
  if (detail == TrainingDetail::messages || push_pull(0) || schedule.messages() == 0) return;
  const Int128 calls = Int128{orders_of(engine_, step_)} * scenario.workload.iterations * parts();
  if (detail == TrainingDetail::automatic && schedule.messages() * calls <= max_messages) return;
  auto merged = std::make_shared<MergedSchedule>(merge_steps(schedule, merged_pieces));
  if (merged->schedule.steps() == schedule.steps()) return;
  merged_messages_ = static_cast<std::int64_t>(std::min<Int128>(merged->schedule.messages() * calls, INT64_MAX / 2));
  merged_ = std::move(merged);
}

std::shared_ptr<const MergedSchedule> TrainingJob::merged_as_others(const Schedule& schedule) const {
  return merged_ ? std::make_shared<const MergedSchedule>(merge_steps(schedule, merged_pieces)) : nullptr;
}

PlacedTraining TrainingJob::placed(int part, const Schedule& schedule, const HardwareProfile& hardware, std::span<const SimTime> starts,
                                   bool apart) const {
  const Part& own = parts_[static_cast<std::size_t>(part)];
  PlacedTraining out{.step = step_,
                     .engine = engine_,
                     .schedule = merged_ && !apart ? merged_->schedule : schedule,
                     .push_pull = own.push_pull.get(),
                     .servers = own.servers,
                     .element_bytes = element_bytes_,
                     .machines = own.machines,
                     .placement = own.placement,
                     .hardware = hardware,
                     .forward_by_layer = forward_by_layer_,
                     .members = own.members,
                     .apart = apart,
                     .whole_chunks = merged_ && apart};
  if (merged_ && !apart) out.stands_for = merged_->stands_for;
  const auto global = [members = own.members](Rank r) { return members.empty() ? r : members[static_cast<std::size_t>(r)]; };
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
