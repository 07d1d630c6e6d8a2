#include "sim/simulate.hpp"

#include "collectives/registry.hpp"
#include "collectives/verify.hpp"
#include "models/link_load.hpp"
#include "models/placement.hpp"
#include "models/server/server_fabric.hpp"
#include "sim/engine/ns3_network.hpp"
#include "sim/engine/s4u_network.hpp"
#include "sim/in_network/in_network.hpp"
#include "sim/network/flow_network.hpp"
#include "sim/packet/packet_run.hpp"
#include "sim/scenario/jobs.hpp"
#include "sim/shared_run.hpp"

#include <algorithm>
#include <chrono>
#include <random>
#include <span>
#include <utility>

namespace weft {
namespace {

std::int64_t elements_in(Bytes size, const Schedule& schedule, DType dtype) {
  const std::int64_t elements = size.count / static_cast<std::int64_t>(size_of(dtype));
  return schedule.collective == Collective::alltoall ? elements / schedule.chunks * schedule.chunks : elements;
}

NetworkRun run_on(const Scenario& scenario, const Job& job, const Fabric& fabric, Routes& routes, std::vector<MessageRecord>* timeline,
                  PacketReport& report) {
  switch (scenario.network) {
    case NetworkKind::flow:
      return run_flow(job, fabric, routes, timeline);
    case NetworkKind::packet:
      return run_packet(job, fabric, routes, scenario.packet.value_or(PacketSettings{}), timeline, &report);
    case NetworkKind::simgrid:
      return run_s4u(job, fabric, routes);
    case NetworkKind::ns3:
      return run_ns3(job, fabric, routes);
    default:
      throw InputError(fmt::format("network \"{}\" is not part of this build", name_of(scenario.network)));
  }
}

// One job, built and proved right.
struct BuiltJob {
  AlgorithmChoice algorithm;
  Request request;
  Schedule schedule;
  std::vector<int> placement;
  std::vector<SimTime> starts;
  LinkLoad load;
  DType dtype;
  std::int64_t elements = 0;

  Bytes size() const { return Bytes{elements * static_cast<std::int64_t>(size_of(dtype))}; }
  Bytes most_sent() const { return Bytes{traffic(schedule, elements).max_elements_sent * static_cast<std::int64_t>(size_of(dtype))}; }
  Job job(const HardwareProfile& hardware) const {
    return {.schedule = schedule,
            .placement = placement,
            .elements = elements,
            .element_bytes = static_cast<std::int64_t>(size_of(dtype)),
            .hardware = hardware,
            .start = starts};
  }
};

// The workload of `scenario`, on the given endpoints.
BuiltJob built(const Scenario& scenario, const AlgorithmChoice& algorithm, Bytes size, std::vector<int> placement,
               std::vector<SimTime> starts, Routes& routes) {
  const Request request = request_of(scenario, algorithm);
  BuiltJob out{.algorithm = algorithm,
               .request = request,
               .schedule = build(request),
               .placement = std::move(placement),
               .starts = std::move(starts),
               .load = {},
               .dtype = scenario.workload.dtype};
  require_correct(out.schedule, request);
  if (!out.starts.empty())  // servers wait for the first worker
    out.starts.resize(static_cast<std::size_t>(out.schedule.ranks), *std::ranges::min_element(out.starts));
  out.load = link_load(out.schedule, out.placement, routes);
  out.elements = elements_in(size, out.schedule, out.dtype);
  return out;
}

// The workload and the jobs beside it, with those that drive them.
struct Jobs {
  std::vector<BuiltJob> built;
  std::vector<std::string> names;
  std::vector<Repetition> repetitions;

  Jobs(const Scenario& scenario, const AlgorithmChoice& algorithm, Bytes size, BuiltJob workload, Routes& routes) {
    const std::vector<std::vector<int>> placements = placements_of_jobs(scenario, algorithm);
    add("workload", std::move(workload), scenario.workload.iterations, scenario.workload.compute);
    for (std::size_t i = 0; i < scenario.jobs.size(); ++i) {
      const JobSpec& spec = scenario.jobs[i];
      const Scenario alone = scenario_of_job(scenario, algorithm, size, spec);
      std::vector<SimTime> starts(static_cast<std::size_t>(alone.workload.ranks), spec.start);
      add(spec.name,
          weft::built(alone, alone.workload.algorithms.front(), alone.workload.sizes.front(), placements[i + 1], std::move(starts), routes),
          spec.iterations, spec.compute);
    }
  }

  Tenant tenant(std::size_t i, const HardwareProfile& hardware) const {
    return {.name = names[i], .job = built[i].job(hardware), .repetition = repetitions[i]};
  }

 private:
  void add(std::string name, BuiltJob job, int iterations, SimTime compute) {
    names.push_back(std::move(name));
    built.push_back(std::move(job));
    repetitions.push_back({.iterations = iterations, .compute = compute});
  }
};

SharedRun run_shared(const Scenario& scenario, std::span<const Tenant> tenants, std::span<const TrafficSpec> traffic,
                     std::span<const HostCopies> copies, Routes& routes, PacketReport* report, Around around) {
  if (scenario.network == NetworkKind::flow) return run_shared_flow(tenants, traffic, copies, routes, around);
  check(scenario.network == NetworkKind::packet, "jobs on the network {}", name_of(scenario.network));
  return run_shared_packet(tenants, traffic, routes, scenario.packet.value_or(PacketSettings{}), report, around);
}

SimTime mean_time(const std::vector<Iteration>& iterations) {
  SimTime sum;
  for (const Iteration& one : iterations) sum += one.time();
  return {sum.ps / static_cast<std::int64_t>(iterations.size())};
}

std::vector<JobResult> results_of(const Jobs& jobs, const SharedRun& shared, const Scenario& scenario, const Fabric& fabric) {
  std::vector<JobResult> out;
  for (std::size_t i = 0; i < jobs.built.size(); ++i) {
    const BuiltJob& job = jobs.built[i];
    const std::vector<Iteration>& iterations = shared.jobs[i].iterations;
    const Tenant only = jobs.tenant(i, scenario.hardware);
    Routes routes(fabric, scenario.fabric.ecmp);
    const SharedRun alone = run_shared(scenario, {&only, 1}, {}, {}, routes, nullptr, Around::nothing);
    const auto [least, most] = std::ranges::minmax(iterations, {}, [](const Iteration& one) { return one.time(); });
    out.push_back({.name = jobs.names[i],
                   .algorithm = label(job.algorithm),
                   .collective = job.request.collective,
                   .ranks = job.request.ranks,
                   .size = job.size(),
                   .dtype = job.dtype,
                   .start = iterations.front().begin,
                   .iterations = static_cast<int>(iterations.size()),
                   .mean = mean_time(iterations),
                   .least = least.time(),
                   .most = most.time(),
                   .alone = mean_time(alone.jobs.front().iterations),
                   .wire_bytes_per_rank = job.most_sent(),
                   .messages = shared.jobs[i].run.messages / static_cast<std::int64_t>(iterations.size()),
                   .steps = job.schedule.steps(),
                   .max_flows_per_link = job.load.max_flows_per_link()});
  }
  return out;
}

// `span`: the time in which the bytes were carried.
void find_busiest(const std::vector<std::int64_t>& bytes_on_link, SimTime span, const Fabric& fabric, Outcome& outcome) {
  if (span.ps == 0) return;
  double most = 0;
  for (LinkId id = 0; id < fabric.links(); ++id) {
    const double carried = 8.0 * static_cast<double>(bytes_on_link[static_cast<std::size_t>(id)]);
    const double utilization = carried / (static_cast<double>(fabric.link(id).bandwidth.count) * span.seconds());
    if (utilization <= most) continue;
    most = utilization;
    outcome.busiest_link = fabric.link_name(id);
  }
  outcome.busiest_link_utilization = most;
}

std::vector<InNetworkTenant> tenants_of(const Scenario& scenario, const AlgorithmChoice& algorithm, Bytes size) {
  const std::vector<std::vector<int>> placements = placements_of_jobs(scenario, algorithm);
  std::vector<InNetworkTenant> out = {{placements.front(), size.count / 4, starts_of(scenario)}};
  for (std::size_t i = 0; i < scenario.jobs.size(); ++i)
    out.push_back({placements[i + 1], scenario.jobs[i].size.value_or(size).count / 4,
                   std::vector<SimTime>(placements[i + 1].size(), scenario.jobs[i].start)});
  return out;
}

SimTime first_start(const InNetworkTenant& tenant) { return tenant.starts.empty() ? SimTime{} : *std::ranges::min_element(tenant.starts); }

std::vector<JobResult> results_of(const std::vector<InNetworkTenant>& tenants, const InNetworkRun& run, const Scenario& scenario,
                                  const AlgorithmChoice& algorithm, const Fabric& fabric) {
  std::vector<JobResult> out;
  for (std::size_t t = 0; t < tenants.size(); ++t) {
    Routes routes(fabric, scenario.fabric.ecmp);
    PacketReport report;
    const SimTime start = first_start(tenants[t]), time = run.finish[t] - start;
    const SimTime alone = run_in_network(scenario, algorithm, {tenants[t]}, fabric, routes, report, Around::nothing).finish.front() - start;
    out.push_back({.name = t == 0 ? "workload" : scenario.jobs[t - 1].name,
                   .algorithm = label(algorithm),
                   .ranks = static_cast<int>(tenants[t].workers.size()),
                   .size = Bytes{4 * tenants[t].elements},
                   .start = start,
                   .mean = time,
                   .least = time,
                   .most = time,
                   .alone = alone,
                   .steps = 2});
  }
  return out;
}

// The steps of such an all-reduce are two: gradients up, parameters down.
Outcome simulate_in_network(const Scenario& scenario, const AlgorithmChoice& algorithm, Bytes size) {
  const auto fabric = build(scenario.fabric.spec, scenario.server);
  Routes routes(*fabric, scenario.fabric.ecmp);
  const std::vector<InNetworkTenant> tenants = tenants_of(scenario, algorithm, size);
  const auto before = std::chrono::steady_clock::now();
  PacketReport report;
  const InNetworkRun run = run_in_network(scenario, algorithm, tenants, *fabric, routes, report, Around::engine);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - before;
  Outcome outcome{.time = run.finish.front() - first_start(tenants.front()),
                  .ranks = scenario.workload.ranks,
                  .size = Bytes{4 * tenants.front().elements},
                  .messages = run.network.messages,
                  .steps = 2,
                  .aggregates = true,
                  .notes = run.notes,
                  .events = run.network.events,
                  .solves = run.network.solves,
                  .wall_s = wall.count()};
  for (LinkId id = 0; id < fabric->links(); ++id)
    if (fabric->device(fabric->from(id)).kind == DeviceKind::endpoint)
      outcome.wire_bytes_per_rank = std::max(outcome.wire_bytes_per_rank, run.network.bytes_on_link[static_cast<std::size_t>(id)]);
  if (!scenario.jobs.empty()) outcome.jobs = results_of(tenants, run, scenario, algorithm, *fabric);
  find_busiest(run.network.bytes_on_link, *std::ranges::max_element(run.finish), *fabric, outcome);
  if (scenario.network == NetworkKind::packet) outcome.packet = summary(report, *fabric);
  return outcome;
}

// What is known of the workload before it runs.
Outcome outcome_of(const BuiltJob& workload, const Fabric& fabric) {
  const LinkLoad& load = workload.load;
  return {.time = {},
          .ranks = workload.request.ranks,
          .size = workload.size(),
          .wire_bytes_per_rank = workload.most_sent().count,
          .steps = workload.schedule.steps(),
          .max_flows_per_link = load.max_flows_per_link(),
          .most_shared_link = load.max_flows_per_link() > 0 ? fabric.link_name(load.between_switches.link) : "",
          .most_shared_step = load.between_switches.step,
          .aggregates = workload.schedule.servers > 0};
}

Outcome simulate_alone(const Scenario& scenario, const BuiltJob& workload, const Fabric& fabric, Routes& routes,
                       std::vector<MessageRecord>* timeline, PacketReport& report) {
  Outcome outcome = outcome_of(workload, fabric);
  Job job = workload.job(scenario.hardware);
  job.copies = scenario.copies;
  const auto before = std::chrono::steady_clock::now();
  const NetworkRun run = run_on(scenario, job, fabric, routes, timeline, report);
  outcome.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  outcome.time = workload.starts.empty() ? run.finish : run.finish - *std::ranges::min_element(workload.starts);
  outcome.messages = run.messages;
  outcome.copies = run.copies;
  outcome.events = run.events;
  outcome.solves = run.solves;
  find_busiest(run.bytes_on_link, outcome.time, fabric, outcome);
  return outcome;
}

Outcome simulate_shared(const Scenario& scenario, const AlgorithmChoice& algorithm, Bytes size, BuiltJob workload, const Fabric& fabric,
                        Routes& routes, std::vector<MessageRecord>* timeline, PacketReport& report) {
  Outcome outcome = outcome_of(workload, fabric);
  const Jobs jobs(scenario, algorithm, size, std::move(workload), routes);
  std::vector<Tenant> tenants;
  for (std::size_t i = 0; i < jobs.built.size(); ++i) tenants.push_back(jobs.tenant(i, scenario.hardware));
  tenants.front().timeline = timeline;
  const auto before = std::chrono::steady_clock::now();
  const SharedRun shared = run_shared(scenario, tenants, scenario.traffic, scenario.copies, routes, &report, Around::engine);
  outcome.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  outcome.jobs = results_of(jobs, shared, scenario, fabric);
  outcome.time = outcome.jobs.front().mean;
  outcome.messages = outcome.jobs.front().messages;
  outcome.copies = shared.copies;
  outcome.events = shared.events;
  outcome.solves = shared.solves;
  for (const TrafficRecord& t : shared.traffic) outcome.traffic.push_back({t.streams, t.count, Bytes{t.bytes}, t.busy});
  find_busiest(shared.bytes_on_link, shared.finish, fabric, outcome);
  return outcome;
}

}  // namespace

std::vector<int> placement_of(const Scenario& scenario, const AlgorithmChoice& algorithm) {
  return placement_of_workload(scenario, algorithm);
}

std::vector<SimTime> starts_of(const Scenario& scenario) {
  if (!scenario.start_skew) return {};
  std::mt19937_64 random(scenario.start_skew->seed);
  std::vector<SimTime> starts(static_cast<std::size_t>(scenario.workload.ranks));
  const auto range = static_cast<std::uint64_t>(scenario.start_skew->max.ps) + 1;
  for (SimTime& start : starts) start.ps = static_cast<std::int64_t>(random() % range);
  return starts;
}

void require_correct(const Schedule& schedule, const Request& request) {
  std::vector<std::string> flaws = verify(schedule);
  const Price counted = traffic(schedule).counted, formula = price(request);
  const auto text = [](const Price& p) {
    return fmt::format("{} steps, {} messages, at most {} of {} chunks sent by a rank", p.steps, p.messages, p.max_chunks_sent, p.chunks);
  };
  if (counted != formula) flaws.push_back(fmt::format("it takes {}; its formula says {}", text(counted), text(formula)));
  if (!flaws.empty()) throw RunError(fmt::format("{} on {} ranks is wrong:\n{}", schedule.name, schedule.ranks, fmt::join(flaws, "\n")));
}

Outcome simulate(const Scenario& scenario, const AlgorithmChoice& algorithm, Bytes size, std::vector<MessageRecord>* timeline) {
  if (is_in_network(algorithm.name)) return simulate_in_network(scenario, algorithm, size);
  const auto fabric = build(scenario.fabric.spec, scenario.server);
  Routes routes(*fabric, scenario.fabric.ecmp);
  BuiltJob workload = built(scenario, algorithm, size, placement_of(scenario, algorithm), starts_of(scenario), routes);
  PacketReport report;
  Outcome outcome = is_shared(scenario) ? simulate_shared(scenario, algorithm, size, std::move(workload), *fabric, routes, timeline, report)
                                        : simulate_alone(scenario, workload, *fabric, routes, timeline, report);
  if (scenario.network == NetworkKind::packet) outcome.packet = summary(report, *fabric);
  return outcome;
}

}  // namespace weft
