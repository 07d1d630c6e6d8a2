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

#include <algorithm>
#include <chrono>
#include <random>

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

void find_busiest(const NetworkRun& run, const Fabric& fabric, Outcome& outcome) {
  if (outcome.time.ps == 0) return;
  double most = 0;
  for (LinkId id = 0; id < fabric.links(); ++id) {
    const double carried = 8.0 * static_cast<double>(run.bytes_on_link[static_cast<std::size_t>(id)]);
    const double utilization = carried / (static_cast<double>(fabric.link(id).bandwidth.count) * outcome.time.seconds());
    if (utilization <= most) continue;
    most = utilization;
    outcome.busiest_link = fabric.link_name(id);
  }
  outcome.busiest_link_utilization = most;
}

// The steps of such an all-reduce are two: gradients up, parameters down.
Outcome simulate_in_network(const Scenario& scenario, const AlgorithmChoice& algorithm, Bytes size) {
  const auto fabric = build(scenario.fabric.spec, scenario.server);
  Routes routes(*fabric, scenario.fabric.ecmp);
  const std::vector<int> placement = placement_of(scenario, algorithm);
  const std::vector<SimTime> starts = starts_of(scenario);
  const std::int64_t elements = size.count / 4;
  const auto before = std::chrono::steady_clock::now();
  PacketReport report;
  const InNetworkRun run = run_in_network(scenario, algorithm, elements, placement, starts, *fabric, routes, report);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - before;
  Outcome outcome{.time = run.network.finish,
                  .ranks = scenario.workload.ranks,
                  .size = Bytes{elements * 4},
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
  if (!starts.empty()) outcome.time = run.network.finish - *std::ranges::min_element(starts);
  find_busiest(run.network, *fabric, outcome);
  return outcome;
}

}  // namespace

std::vector<int> placement_of(const Scenario& scenario, const AlgorithmChoice& algorithm) {
  // The ranks of HDRM's schedule are ports already.
  if (algorithm.name == "hdrm") return endpoints_of_ports(scenario.fabric.spec, scenario.server);
  return place(scenario.placement, scenario.workload.ranks, scenario.fabric.spec, scenario.server);
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
  const Request request = request_of(scenario, algorithm);
  const Schedule schedule = build(request);
  require_correct(schedule, request);

  const std::vector<int> placement = placement_of(scenario, algorithm);
  const std::vector<SimTime> starts = starts_of(scenario);
  Routes routes(*fabric, scenario.fabric.ecmp);
  const LinkLoad load = link_load(schedule, placement, routes);

  const std::int64_t elements = elements_in(size, schedule, scenario.workload.dtype);
  const auto element_bytes = static_cast<std::int64_t>(size_of(scenario.workload.dtype));
  const Job job{schedule, placement, elements, element_bytes, scenario.hardware, starts, scenario.copies};
  const auto before = std::chrono::steady_clock::now();
  PacketReport report;
  const NetworkRun run = run_on(scenario, job, *fabric, routes, timeline, report);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - before;

  Outcome outcome{.time = run.finish,
                  .ranks = request.ranks,
                  .size = Bytes{elements * element_bytes},
                  .wire_bytes_per_rank = traffic(schedule, elements).max_elements_sent * element_bytes,
                  .messages = run.messages,
                  .steps = schedule.steps(),
                  .max_flows_per_link = load.max_flows_per_link(),
                  .most_shared_link = load.max_flows_per_link() > 0 ? fabric->link_name(load.between_switches.link) : "",
                  .most_shared_step = load.between_switches.step,
                  .busiest_link = {},
                  .busiest_link_utilization = 0,
                  .copies = run.copies,
                  .events = run.events,
                  .solves = run.solves,
                  .wall_s = wall.count()};
  if (!starts.empty()) outcome.time = run.finish - *std::ranges::min_element(starts);
  find_busiest(run, *fabric, outcome);
  return outcome;
}

}  // namespace weft
