#include "models/server/server_fabric.hpp"
#include "sim/cases/jobs.hpp"
#include "sim/cases/plan.hpp"
#include "sim/cases/sized.hpp"
#include "sim/cli/commands.hpp"
#include "sim/packet/packet_network.hpp"
#include "sim/reference/ns3_network.hpp"
#include "sim/scenario/algorithms.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace weft {
namespace {

std::vector<Problem> problems_on_ns3(const RowRequest& row, const Fabric& fabric) {
  const Scenario& scenario = *row.scenario;
  const Schedule schedule = build(request_of(scenario, *row.algorithm));
  const std::vector<int> placement = placement_of_workload(scenario, *row.algorithm);
  const auto element_bytes = static_cast<std::int64_t>(size_of(scenario.workload.dtype));
  return ns3_problems({.schedule = schedule,
                       .placement = placement,
                       .elements = row.size.count / element_bytes,
                       .element_bytes = element_bytes,
                       .hardware = scenario.hardware,
                       .start = {}},
                      fabric);
}

// The first link of those that the schedule's messages pass that packets cannot.
std::optional<LinkId> contended_link(const Schedule& schedule, const std::vector<int>& placement, Routes& routes) {
  const Fabric& fabric = routes.fabric();
  std::set<std::pair<int, int>> seen;
  Step step;
  for (const Steps& channel : schedule.channels)
    for (int k = 0; k < channel.count(); ++k) {
      channel.produce(k, step);
      for (const Transfer& t : step.transfers()) {
        const int from = placement[static_cast<std::size_t>(t.from)], to = placement[static_cast<std::size_t>(t.to)];
        if (from == to || !seen.emplace(from, to).second) continue;
        for (const Hop& hop : routes.hops(routes.of(from, to)))
          if (fabric.link(hop.link).two_way.loses()) return hop.link;
      }
    }
  return std::nullopt;
}

// Of a collective by itself, and of the jobs beside it.
std::vector<Problem> problems_on_packet(const RowRequest& row, const Fabric& fabric) {
  const Scenario& scenario = *row.scenario;
  bool loses = false;
  for (LinkId id = 0; id < fabric.links(); ++id) loses |= fabric.link(id).two_way.loses();
  if (!loses || scenario.workload.has_program() || scenario.workload.training.given() || !scenario.workload.compressions.empty()) return {};
  const std::vector<std::vector<int>> placements = placements_of_jobs(scenario, *row.algorithm);
  Routes routes(fabric, scenario.fabric.ecmp);
  const auto contended = [&](const Scenario& s, const AlgorithmChoice& choice, Bytes size, const std::vector<int>& placement) {
    const AlgorithmChoice sized = for_size({s, s.hardware, fabric, placement, size}, choice).choice;
    return contended_link(build(request_of(s, sized)), placement, routes);
  };
  std::vector<Problem> out;
  if (const auto link = contended(scenario, *row.algorithm, row.size, placements.front()))
    out.push_back({"/network", contention_of_link(fabric, *link)});
  for (std::size_t i = 0; i < scenario.jobs.size(); ++i) {
    const Scenario job = scenario_of_job(scenario, *row.algorithm, row.size, scenario.jobs[i], placements[i + 1]);
    if (const auto link = contended(job, job.workload.algorithms.front(), job.workload.sizes.front(), placements[i + 1]))
      out.push_back({fmt::format("/jobs/{}", i), contention_of_link(fabric, *link)});
  }
  return out;
}

}  // namespace

void refuse_beyond_limits(const std::vector<Case>& cases) {
  std::vector<std::string> lines;
  for (const RowRequest& row : rows_of(cases)) {
    const bool on_ns3 = row.scenario->network == NetworkKind::ns3;
    if (!on_ns3 && (row.scenario->network != NetworkKind::packet || row.scenario->server.is_sub_node())) continue;
    const auto fabric = build(row.scenario->fabric.spec, row.scenario->server);
    for (const Problem& problem : on_ns3 ? problems_on_ns3(row, *fabric) : problems_on_packet(row, *fabric))
      lines.push_back(fmt::format("{}: {}: {}", label(row, cases), problem.where, problem.what));
  }
  if (!lines.empty()) throw InputError(lines);
}

}  // namespace weft
