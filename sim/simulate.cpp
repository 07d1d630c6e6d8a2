#include "sim/simulate.hpp"

#include "collectives/registry.hpp"
#include "collectives/verify.hpp"
#include "models/link_load.hpp"
#include "models/placement.hpp"
#include "models/server/server_fabric.hpp"
#include "sim/engine/ns3_network.hpp"
#include "sim/engine/s4u_network.hpp"
#include "sim/network/flow_network.hpp"
#include "sim/packet/packet_run.hpp"
#include "sim/scenario/jobs.hpp"
#include "sim/shared_run.hpp"

#include <algorithm>
#include <chrono>
#include <random>
#include <span>
#include <utility>
#include <variant>

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

// The workload or a job beside it, ready to run.
struct ReadyJob {
  std::string name;
  AlgorithmChoice algorithm;
  int ranks = 0;
  Bytes size;
  DType dtype;
  Repetition repetition;
  std::variant<BuiltJob, InNetworkJob> what;

  const BuiltJob* schedule() const { return std::get_if<BuiltJob>(&what); }
  Tenant tenant(const HardwareProfile& hardware) const {
    if (const BuiltJob* built = schedule()) return {.name = name, .job = built->job(hardware), .repetition = repetition};
    return {.name = name, .job = std::get<InNetworkJob>(what)};
  }
};

ReadyJob ready(const Scenario& scenario, const AlgorithmChoice& algorithm, Bytes size, std::string name, std::vector<int> placement,
               std::vector<SimTime> starts, Routes& routes) {
  const Workload& workload = scenario.workload;
  const Repetition repetition{.iterations = workload.iterations, .compute = workload.compute};
  if (is_in_network(algorithm.name)) {
    const std::int64_t elements = size.count / 4;
    return {.name = std::move(name),
            .algorithm = algorithm,
            .ranks = static_cast<int>(placement.size()),
            .size = Bytes{4 * elements},
            .dtype = workload.dtype,
            .repetition = repetition,
            .what = InNetworkJob{algorithm, std::move(placement), elements, std::move(starts), repetition}};
  }
  BuiltJob job = built(scenario, algorithm, size, std::move(placement), std::move(starts), routes);
  return {.name = std::move(name),
          .algorithm = algorithm,
          .ranks = job.request.ranks,
          .size = job.size(),
          .dtype = job.dtype,
          .repetition = repetition,
          .what = std::move(job)};
}

// The workload first.
std::vector<ReadyJob> ready_jobs(const Scenario& scenario, const AlgorithmChoice& algorithm, Bytes size, Routes& routes) {
  const std::vector<std::vector<int>> placements = placements_of_jobs(scenario, algorithm);
  std::vector<ReadyJob> out;
  out.push_back(ready(scenario, algorithm, size, "workload", placements.front(), starts_of(scenario), routes));
  for (std::size_t i = 0; i < scenario.jobs.size(); ++i) {
    const JobSpec& spec = scenario.jobs[i];
    const Scenario alone = scenario_of_job(scenario, algorithm, size, spec);
    std::vector<SimTime> starts(static_cast<std::size_t>(alone.workload.ranks), spec.start);
    out.push_back(ready(alone, alone.workload.algorithms.front(), alone.workload.sizes.front(), spec.name, placements[i + 1],
                        std::move(starts), routes));
  }
  return out;
}

SharedRun run_shared(const Scenario& scenario, std::span<const Tenant> tenants, std::span<const TrafficSpec> traffic,
                     std::span<const HostCopies> copies, Routes& routes, PacketReport* report, Around around) {
  const SharedSite site{.routes = routes,
                        .hardware = scenario.hardware,
                        .switches = scenario.fabric.programmable,
                        .packet = scenario.packet.value_or(PacketSettings{})};
  if (scenario.network == NetworkKind::flow) return run_shared_flow(tenants, traffic, copies, site, around);
  check(scenario.network == NetworkKind::packet, "jobs on the network {}", name_of(scenario.network));
  return run_shared_packet(tenants, traffic, site, report, around);
}

SimTime mean_time(const std::vector<Iteration>& iterations) {
  SimTime sum;
  for (const Iteration& one : iterations) sum += one.time();
  return {sum.ps / static_cast<std::int64_t>(iterations.size())};
}

// Gradients up, parameters down.
constexpr int steps_of_in_network = 2;

std::vector<JobResult> results_of(const std::vector<ReadyJob>& jobs, const SharedRun& shared, const Scenario& scenario,
                                  const Fabric& fabric) {
  std::vector<JobResult> out;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const ReadyJob& job = jobs[i];
    const BuiltJob* schedule = job.schedule();
    const std::vector<Iteration>& iterations = shared.jobs[i].iterations;
    const auto times = static_cast<std::int64_t>(iterations.size());
    const Tenant only = job.tenant(scenario.hardware);
    Routes routes(fabric, scenario.fabric.ecmp);
    const SharedRun alone = run_shared(scenario, {&only, 1}, {}, {}, routes, nullptr, Around::nothing);
    const auto [least, most] = std::ranges::minmax(iterations, {}, [](const Iteration& one) { return one.time(); });
    out.push_back({.name = job.name,
                   .algorithm = label(job.algorithm),
                   .collective = schedule ? schedule->request.collective : Collective::allreduce,
                   .ranks = job.ranks,
                   .size = job.size,
                   .dtype = job.dtype,
                   .start = iterations.front().begin,
                   .iterations = static_cast<int>(times),
                   .mean = mean_time(iterations),
                   .least = least.time(),
                   .most = most.time(),
                   .alone = mean_time(alone.jobs.front().iterations),
                   .wire_bytes_per_rank = schedule ? schedule->most_sent() : Bytes{shared.jobs[i].most_sent / times},
                   .messages = shared.jobs[i].messages / times,
                   .steps = schedule ? schedule->schedule.steps() : steps_of_in_network,
                   .max_flows_per_link = schedule ? schedule->load.max_flows_per_link() : 0});
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

Outcome simulate_shared(const Scenario& scenario, const AlgorithmChoice& algorithm, Bytes size, const Fabric& fabric, Routes& routes,
                        std::vector<MessageRecord>* timeline, PacketReport& report) {
  const std::vector<ReadyJob> jobs = ready_jobs(scenario, algorithm, size, routes);
  const ReadyJob& workload = jobs.front();
  Outcome outcome =
      workload.schedule()
          ? outcome_of(*workload.schedule(), fabric)
          : Outcome{.time = {}, .ranks = workload.ranks, .size = workload.size, .steps = steps_of_in_network, .aggregates = true};
  std::vector<Tenant> tenants;
  for (const ReadyJob& job : jobs) tenants.push_back(job.tenant(scenario.hardware));
  tenants.front().timeline = timeline;
  const auto before = std::chrono::steady_clock::now();
  const SharedRun shared = run_shared(scenario, tenants, scenario.traffic, scenario.copies, routes, &report, Around::engine);
  outcome.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  const TenantRun& of_workload = shared.jobs.front();
  const auto times = static_cast<std::int64_t>(of_workload.iterations.size());
  outcome.time = mean_time(of_workload.iterations);
  outcome.messages = of_workload.messages / times;
  if (!workload.schedule()) outcome.wire_bytes_per_rank = of_workload.most_sent / times;
  if (is_shared(scenario)) outcome.jobs = results_of(jobs, shared, scenario, fabric);
  outcome.copies = shared.copies;
  outcome.in_network = shared.in_network;
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
  const auto fabric = build(scenario.fabric.spec, scenario.server);
  Routes routes(*fabric, scenario.fabric.ecmp);
  PacketReport report;
  Outcome outcome;
  if (is_shared(scenario) || is_in_network(algorithm.name)) {
    outcome = simulate_shared(scenario, algorithm, size, *fabric, routes, timeline, report);
  } else {
    const BuiltJob workload = built(scenario, algorithm, size, placement_of(scenario, algorithm), starts_of(scenario), routes);
    outcome = simulate_alone(scenario, workload, *fabric, routes, timeline, report);
  }
  if (scenario.network == NetworkKind::packet) outcome.packet = summary(report, *fabric);
  return outcome;
}

}  // namespace weft
