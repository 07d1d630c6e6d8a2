#include "sim/placed_job.hpp"

#include "collectives/algorithms/built_in_nccl.hpp"
#include "sim/cases/compression_check.hpp"
#include "sim/cases/describe.hpp"
#include "sim/cases/jobs.hpp"
#include "sim/cases/sized.hpp"
#include "sim/experiment.hpp"
#include "sim/scenario/networks.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace weft {
namespace {

// What the profile knows of calls of this size; a program is known by its label, as messages between two ranks are.
double cost_of_size(const PlacedJob& job, Bytes row_size, const HardwareProfile& hardware) {
  if (hardware.cost_by_size.empty() || job.compression || job.training) return 1;
  if (job.program) return cost_factor(hardware.cost_by_size, {job.label, job.label, job.ranks, job.simulated_size(row_size)});
  const std::string algorithm = sized_name({job.chosen, job.regime});
  return cost_factor(hardware.cost_by_size, {name_of(job.collective), algorithm, job.ranks, job.own_size.value_or(row_size)});
}

// Of a training job, of the first part of its model; where that goes to parameter servers, of what goes to the one with most flows.
LinkLoad load_of(const PlacedJob& job, const Schedule& schedule, Routes& routes) {
  if (!job.training) return link_load(schedule, job.placement, routes);
  const std::vector<int>& ranks = job.training->placement(0);
  const Schedule* push_pull = job.training->push_pull(0);
  if (!push_pull) return link_load(schedule, ranks, routes);
  LinkLoad most;
  for (const int server : job.training->servers(0)) {
    std::vector<int> placement(ranks.begin(), ranks.begin() + push_pull->workers());
    placement.push_back(server);
    LinkLoad load = link_load(*push_pull, placement, routes);
    if (load.max_flows_per_link() >= most.max_flows_per_link()) most = std::move(load);
  }
  return most;
}

// The schedule for a message of this size, and what it is of.
std::pair<const ProvedSchedule&, SizedChoice> schedule_for(PlacedJob& job, Bytes size, const HardwareProfile& hardware,
                                                           const Ground& ground) {
  SizedChoice sized = for_size({*job.chosen_for, hardware, ground.routes.fabric(), job.placement, size}, job.algorithm);
  const auto [at, is_new] = job.by_settings.try_emplace(label(sized.choice));
  if (is_new) {
    Request request = request_of(*job.chosen_for, sized.choice);
    request.ranks /= job.chosen_for->workload.training.model_parallel;
    auto schedule = std::make_shared<Schedule>(build(request));
    ground.prover.require_correct(*schedule, request);
    at->second.load = load_of(job, *schedule, ground.routes);
    at->second.schedule = std::move(schedule);
  }
  return {at->second, std::move(sized)};
}

// Engines reduce anything between a gradient and all of them: chosen anew at every power of two.
void choose_by_size(PlacedJob& job, const HardwareProfile& hardware, const Ground& ground) {
  job.by_size.clear();
  const Schedule* last = nullptr;
  for (Bytes size = 256_B; size <= job.training->size(); size = 2 * size) {
    const auto& [proved, sized] = schedule_for(job, size, hardware, ground);
    if (proved.schedule.get() == last && sized.regime == job.by_size.back().regime) continue;
    job.by_size.push_back(job.training->sized(last == nullptr ? Bytes{} : size, proved.schedule, sized.regime));
    last = proved.schedule.get();
  }
}

void choose_schedule(PlacedJob& job, Bytes row_size, const HardwareProfile& hardware, const Ground& ground) {
  if (!job.chosen_for) return;
  const Bytes size = job.training ? job.training->size() : job.own_size.value_or(row_size);
  const auto& [proved, sized] = schedule_for(job, size, hardware, ground);
  job.schedule = proved.schedule;
  job.load = proved.load;
  job.regime = sized.regime;
  job.chosen = sized.choice;
  if (!job.training) return;
  job.training.emplace(*job.chosen_for, *job.schedule, job.placement);
  if (!job.compression) choose_by_size(job, hardware, ground);
}

// Behind the ranks, for the schedules of NCCL that have them as servers: the switches of each NIC.
void place_switches(PlacedJob& job, const Scenario& scenario, const Request& request, Routes& routes) {
  const Algorithm* algorithm = find_algorithm(request.collective, request.algorithm);
  if (!scenario.fabric.sharp || !algorithm->cuts_itself) return;
  const NcclShape shape = nccl_shape(request);
  if (shape.servers() == 1 || !shape.is_even()) return;
  for (int nic = 0; nic < shape.nics; ++nic) {
    std::vector<int> heads;
    for (const Rank head : nccl_heads(shape, nic)) heads.push_back(job.placement[static_cast<std::size_t>(head)]);
    job.placement.push_back(routes.add_switches(heads));
  }
}

}  // namespace

PlacedJob placed_workload(const Scenario& scenario, const AlgorithmChoice& algorithm, JobSeat seat, const Ground& ground) {
  const Workload& workload = scenario.workload;
  PlacedJob job{.name = std::move(seat.name),
                .algorithm = algorithm,
                .label = label(algorithm),
                .ranks = static_cast<int>(seat.placement.size()),
                .dtype = workload.dtype,
                .repetition = {.iterations = workload.iterations, .compute = workload.compute},
                .placement = std::move(seat.placement),
                .starts = std::move(seat.starts),
                .chosen = algorithm};
  if (is_in_network(algorithm.name)) {
    job.aggregation = in_network_settings(algorithm, scenario.fabric.programmable);
    if (!workload.training.given()) return job;
    const Schedule ranks_only{.name = algorithm.name, .ranks = job.ranks / workload.training.model_parallel};
    job.schedule = std::make_shared<const Schedule>(ranks_only);
    job.training.emplace(scenario, ranks_only, job.placement);
    return job;
  }
  Request request = request_of(scenario, algorithm);
  job.ranks = request.ranks;
  request.ranks /= workload.training.model_parallel;  // an all-reduce joins the ranks with the same part
  if (depends_on_size(scenario, algorithm)) job.chosen_for = std::make_shared<const Scenario>(scenario);
  auto schedule = std::make_shared<Schedule>(build(request));
  ground.prover.require_correct(*schedule, request);
  job.collective = request.collective;
  place_switches(job, scenario, request, ground.routes);
  if (!job.starts.empty())  // servers wait for the first worker
    job.starts.resize(std::max(job.starts.size(), job.placement.size()), *std::ranges::min_element(job.starts));
  if (workload.training.given()) job.training.emplace(scenario, *schedule, job.placement);
  job.load = load_of(job, *schedule, ground.routes);
  job.schedule = std::move(schedule);
  if (job.chosen_for) job.by_settings[label(algorithm)] = {job.schedule, job.load};  // where all is given that a size would say
  if (job.compression = compressed_allreduce(scenario, algorithm); job.compression) {
    job.kernels_on_gpu = shares_the_gpu(scenario);
    job.load = {};
    for (const auto& [exchange, of_exchange] : job.compression->exchanges()) {
      ground.prover.require_correct(*of_exchange, exchange);
      LinkLoad load = link_load(*of_exchange, job.training ? job.training->placement(0) : job.placement, ground.routes);
      if (load.max_flows_per_link() >= job.load.max_flows_per_link()) job.load = std::move(load);
    }
  }
  return job;
}

void choose_for_size(PlacedJob& job, Bytes row_size, const HardwareProfile& hardware, const Ground& ground) {
  choose_schedule(job, row_size, hardware, ground);
  job.regime.cost = cost_of_size(job, row_size, hardware);
}

void place_jobs_beside(const Scenario& scenario, const AlgorithmChoice& algorithm, const std::vector<std::vector<int>>& placements,
                       const Ground& ground, std::vector<PlacedJob>& out) {
  for (std::size_t i = 0; i < scenario.jobs.size(); ++i) {
    const JobChoice& spec = scenario.jobs[i];
    const Scenario alone = scenario_of_job(scenario, algorithm, spec.size.value_or(Bytes{}), spec, placements[i + 1]);
    std::vector<SimTime> starts(static_cast<std::size_t>(alone.workload.ranks), spec.start);
    out.push_back(placed_workload(alone, alone.workload.algorithms.front(), {spec.name, placements[i + 1], std::move(starts)}, ground));
    out.back().own_size = spec.size;
  }
}

PlacedJob placed_program(const Scenario& scenario, Program program, std::string label, std::vector<int> placement, Routes& routes) {
  PlacedJob job{.name = "workload",
                .algorithm = {},
                .label = std::move(label),
                .ranks = program.ranks,
                .dtype = scenario.workload.dtype,
                .repetition = {.iterations = scenario.workload.iterations, .compute = scenario.workload.compute},
                .placement = std::move(placement),
                .starts = starts_of(scenario)};
  std::set<std::pair<const Schedule*, std::vector<Rank>>> seen;  // calls that differ in size only use the same links
  for (const Call& call : program.calls) {
    if (!seen.emplace(call.schedule.get(), call.members).second) continue;
    std::vector<int> seats;
    for (Rank r = 0; r < call.schedule->ranks; ++r)
      seats.push_back(job.placement[static_cast<std::size_t>(call.members.empty() ? r : call.members[static_cast<std::size_t>(r)])]);
    LinkLoad load = link_load(*call.schedule, seats, routes);
    if (load.max_flows_per_link() > job.load.max_flows_per_link()) job.load = std::move(load);
  }
  job.program = std::make_shared<const Program>(std::move(program));
  return job;
}

}  // namespace weft
