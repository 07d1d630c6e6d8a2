#include "sim/placed_job.hpp"

#include "collectives/registry/built_in_nccl.hpp"
#include "sim/cases/compression_check.hpp"
#include "sim/cases/describe.hpp"
#include "sim/cases/jobs.hpp"
#include "sim/cases/sized.hpp"
#include "sim/experiment.hpp"
#include "sim/scenario/algorithms.hpp"
#include "sim/scenario/networks.hpp"
#include "sim/scenario/ranks_by_server.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace weft {
namespace {

// Calls that differ in size only use the same links.
std::vector<RoutedSchedule> calls_of(const Program& program, const std::vector<int>& placement) {
  std::vector<RoutedSchedule> out;
  std::set<std::pair<const Schedule*, std::vector<Rank>>> seen;
  for (const Call& call : program.calls) {
    if (!seen.emplace(call.schedule.get(), call.members).second) continue;
    std::vector<int> seats;
    for (Rank r = 0; r < call.schedule->ranks; ++r)
      seats.push_back(placement[static_cast<std::size_t>(call.members.empty() ? r : call.members[static_cast<std::size_t>(r)])]);
    out.push_back({call.schedule, std::move(seats)});
  }
  return out;
}

// To each of the parameter servers.
std::vector<RoutedSchedule> pushes_of(const TrainingJob& training, int part) {
  const std::shared_ptr<const Schedule>& push_pull = training.push_pull(part);
  const std::vector<int>& ranks = training.placement(part);
  std::vector<RoutedSchedule> out;
  for (const int server : training.servers(part)) {
    std::vector<int> placement(ranks.begin(), ranks.begin() + push_pull->workers());
    placement.push_back(server);
    out.push_back({push_pull, std::move(placement)});
  }
  return out;
}

// Of a training job, of the first part of its model; where that goes to parameter servers, of what goes to the one with most flows.
LinkLoad load_of(const PlacedJob& job, const Schedule& schedule, Routes& routes) {
  if (!job.training) return link_load(schedule, job.placement, routes);
  if (!job.training->push_pull(0)) return link_load(schedule, job.training->placement(0), routes);
  LinkLoad most;
  for (const RoutedSchedule& pushes : pushes_of(*job.training, 0))
    if (LinkLoad load = link_load(*pushes.schedule, pushes.placement, routes); load.max_flows_per_link() >= most.max_flows_per_link())
      most = std::move(load);
  return most;
}

// Of a training job the ranks with the first part of its model.
const std::vector<int>& placement_of_calls(const PlacedJob& job) { return job.training ? job.training->placement(0) : job.placement; }

LinkLoad load_of_exchanges(const PlacedJob& job, Routes& routes) {
  LinkLoad most;
  for (const auto& exchange : job.exchanges)
    if (LinkLoad load = link_load(*exchange, placement_of_calls(job), routes); load.max_flows_per_link() >= most.max_flows_per_link())
      most = std::move(load);
  return most;
}

struct CallRun {
  ProvedSchedule& proved;
  SizedChoice sized;
};

// What the job's ranks run in a call: what the same call runs and costs by itself.
CallRun call_of(PlacedJob& job, const Scenario& alone, const AlgorithmChoice& asked, Bytes size, const HardwareProfile& hardware,
                const Ground& ground) {
  SizedChoice sized = for_call({alone, hardware, ground.routes.fabric(), placement_of_calls(job), size}, asked);
  ProvedSchedule& proved = job.by_settings[{alone.workload.collective, label_as_run(sized.choice)}];
  if (!proved.schedule) {
    const Request request = request_of(alone, sized.choice);
    auto schedule = std::make_shared<Schedule>(build(request));
    ground.prover.require_correct(*schedule, request);
    proved.schedule = std::move(schedule);
  }
  return {proved, std::move(sized)};
}

void choose_exchanges(PlacedJob& job, Bytes size, const std::shared_ptr<const HardwareProfile>& hardware, const Ground& ground) {
  job.compression->choose_by([&job, hardware, ground](const Exchange& exchange) -> ExchangeChoice {
    Scenario alone = *job.calls;
    alone.workload.collective = exchange.request.collective;
    alone.workload.root = exchange.request.root;
    const AlgorithmChoice asked{exchange.request.algorithm, exchange.request.settings};
    const CallRun call = call_of(job, alone, asked, Bytes{exchange.bytes()}, *hardware, ground);
    return {call.proved.schedule, call.sized.regime};
  });
  job.exchanges.clear();
  for (const CompressedPhase& phase : job.compression->phases(job.training ? job.training->elements() : job.elements(size)))
    if (phase.is_exchange()) job.exchanges.push_back(phase.schedule);
  job.load = load_of_exchanges(job, ground.routes);
}

void choose_all_reduces(PlacedJob& job, const std::shared_ptr<const HardwareProfile>& hardware, const Ground& ground) {
  job.all_reduce_of = [&job, hardware, ground](Bytes size, bool apart) -> SizedSchedule {
    const CallRun call = call_of(job, *job.calls, job.algorithm, size, *hardware, ground);
    std::shared_ptr<const MergedSchedule>& merged = call.proved.merged;
    if (!merged && !apart) merged = job.training->merged_as_others(*call.proved.schedule);
    if (!merged || apart) return {.schedule = call.proved.schedule, .regime = call.sized.regime};
    return {.schedule = {merged, &merged->schedule}, .stands_for = merged->stands_for, .regime = call.sized.regime};
  };
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
  job.bottleneck = slowest_endpoint(scenario, job.placement);
  if (is_in_network(algorithm.name)) {
    job.aggregation = in_network_settings(algorithm, scenario.fabric.programmable);
    if (!workload.training.given()) return job;
    const Schedule ranks_only{.name = algorithm.name, .ranks = job.ranks / workload.training.model_parallel};
    job.schedule = std::make_shared<const Schedule>(ranks_only);
    job.training.emplace(scenario, ranks_only, job.placement);
    return job;
  }
  job.whole = std::make_shared<const Scenario>(scenario);
  job.calls = workload.training.model_parallel > 1 ? std::make_shared<const Scenario>(scenario_of_calls(scenario)) : job.whole;
  const Request request = request_of(*job.calls, algorithm);
  job.ranks = ranks_of(scenario);
  auto schedule = std::make_shared<Schedule>(build(request));
  ground.prover.require_correct(*schedule, request);
  job.collective = request.collective;
  place_switches(job, scenario, request, ground.routes);
  if (!job.starts.empty())  // servers wait for the first worker
    job.starts.resize(std::max(job.starts.size(), job.placement.size()), *std::ranges::min_element(job.starts));
  if (workload.training.given()) job.training.emplace(scenario, *schedule, job.placement);
  job.load = load_of(job, *schedule, ground.routes);
  job.schedule = std::move(schedule);
  job.by_settings[{job.collective, label_as_run(algorithm)}] = {job.schedule, job.load};  // where all is given that a size would say
  if (job.compression = compressed_allreduce(scenario, algorithm); job.compression) {
    job.kernels_on_gpu = shares_the_gpu(scenario);
    for (const auto& [exchange, of_exchange] : job.compression->exchanges()) {
      ground.prover.require_correct(*of_exchange, exchange);
      job.exchanges.push_back(of_exchange);
    }
    job.load = load_of_exchanges(job, ground.routes);
  }
  return job;
}

void choose_for_size(PlacedJob& job, Bytes row_size, const HardwareProfile& hardware, const Ground& ground) {
  if (job.program) {  // a measured one is known by its label, as messages between two ranks are
    job.regime.cost = hardware.cost_by_size.factor({job.label, job.label, job.ranks, job.simulated_size(row_size), job.servers});
    return;
  }
  if (!job.calls) return;
  const Bytes size = job.training ? job.training->size() : job.own_size.value_or(row_size);
  const CallRun call = call_of(job, *job.calls, job.algorithm, size, hardware, ground);
  if (!call.proved.load) call.proved.load = load_of(job, *call.proved.schedule, ground.routes);
  if (job.training && call.proved.schedule != job.schedule) job.training.emplace(*job.whole, *call.proved.schedule, job.placement);
  job.schedule = call.proved.schedule;
  job.load = *call.proved.load;
  job.regime = call.sized.regime;
  job.chosen = call.sized.choice;
  const auto known = std::make_shared<const HardwareProfile>(hardware);
  job.all_reduce_of = nullptr;
  if (job.compression)
    choose_exchanges(job, size, known, ground);
  else if (job.training && (depends_on_size(*job.calls, job.algorithm) || !hardware.cost_by_size.empty()))
    choose_all_reduces(job, known, ground);
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

std::vector<RoutedSchedule> routed_schedules(const PlacedJob& job) {
  if (job.program) return calls_of(*job.program, job.placement);
  std::vector<RoutedSchedule> out;
  for (int part = 0; part < (job.training ? job.training->parts() : 1); ++part) {
    const std::vector<int>& ranks = job.training ? job.training->placement(part) : job.placement;
    if (job.training && job.training->push_pull(part)) {
      for (RoutedSchedule& one : pushes_of(*job.training, part)) out.push_back(std::move(one));
    } else if (job.compression) {
      for (const auto& exchange : job.exchanges) out.push_back({exchange, ranks});
    } else if (!job.in_network()) {
      out.push_back({job.schedule, ranks});
    }
  }
  return out;
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
  job.servers = ranks_by_server(job.placement, scenario.server.gpu_count()).servers;
  job.bottleneck = slowest_endpoint(scenario, job.placement);
  for (const RoutedSchedule& call : calls_of(program, job.placement))
    if (LinkLoad load = link_load(*call.schedule, call.placement, routes); load.max_flows_per_link() > job.load.max_flows_per_link())
      job.load = std::move(load);
  job.program = std::make_shared<const Program>(std::move(program));
  return job;
}

}  // namespace weft
