#include "models/server/server_fabric.hpp"
#include "sim/cases/jobs.hpp"
#include "sim/cases/plan.hpp"
#include "sim/cli/commands.hpp"
#include "sim/experiment.hpp"
#include "sim/packet/packet_network.hpp"
#include "sim/reference/ns3_network.hpp"
#include "sim/scenario/algorithms.hpp"

#include <memory>

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

// Of the workload and of the jobs beside it.
std::vector<Problem> problems_on_packet(const RowRequest& row, const std::shared_ptr<const Fabric>& fabric) {
  bool depends = false;
  for (LinkId id = 0; id < fabric->links(); ++id) depends |= fabric->link(id).two_way.depends_on_flows();
  if (!depends) return {};
  std::vector<Problem> out;
  try {
    const auto links = Experiment(scenario_of(row), *row.algorithm, fabric, Prover(Unprovable::is_noted)).contended_links(row.size);
    for (std::size_t job = 0; job < links.size(); ++job)
      if (links[job]) out.push_back({job == 0 ? "/network" : fmt::format("/jobs/{}", job - 1), contention_of_link(*fabric, *links[job])});
  } catch (const RunError&) {  // a wrong schedule is another command's to tell
  }
  return out;
}

}  // namespace

void refuse_beyond_limits(const std::vector<Case>& cases) {
  std::vector<std::string> lines;
  for (const RowRequest& row : rows_of(cases)) {
    const bool on_ns3 = row.scenario->network == NetworkKind::ns3;
    if (!on_ns3 && (row.scenario->network != NetworkKind::packet || row.scenario->server.is_sub_node())) continue;
    const std::shared_ptr<const Fabric> fabric = build(row.scenario->fabric.spec, row.scenario->server);
    for (const Problem& problem : on_ns3 ? problems_on_ns3(row, *fabric) : problems_on_packet(row, fabric))
      lines.push_back(fmt::format("{}: {}: {}", label(row, cases), problem.where, problem.what));
  }
  if (!lines.empty()) throw InputError(lines);
}

}  // namespace weft
