#include "models/server/server_fabric.hpp"
#include "sim/cases/jobs.hpp"
#include "sim/cases/plan.hpp"
#include "sim/cli/commands.hpp"
#include "sim/reference/ns3_network.hpp"
#include "sim/scenario/algorithms.hpp"

#include <algorithm>

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

}  // namespace

void refuse_beyond_limits(const std::vector<Case>& cases) {
  std::vector<std::string> lines;
  for (const RowRequest& row : rows_of(cases)) {
    if (row.scenario->network != NetworkKind::ns3) continue;
    const auto fabric = build(row.scenario->fabric.spec, row.scenario->server);
    for (const Problem& problem : problems_on_ns3(row, *fabric))
      lines.push_back(fmt::format("{}: {}: {}", label(row, cases), problem.where, problem.what));
  }
  if (!lines.empty()) throw InputError(lines);
}

}  // namespace weft
