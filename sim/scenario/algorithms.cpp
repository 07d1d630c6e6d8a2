#include "sim/scenario/algorithms.hpp"

#include <algorithm>

namespace weft {

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : algorithms())
    if (std::find(names.begin(), names.end(), algorithm.name) == names.end()) names.emplace_back(algorithm.name);
  return names;
}

Request request_of(const Scenario& scenario, const AlgorithmChoice& choice) {
  const Workload& workload = scenario.workload;
  Request out{.collective = workload.collective,
              .algorithm = choice.name,
              .ranks = workload.ranks > 0 ? workload.ranks : static_cast<int>(endpoints(scenario.fabric.spec)),
              .root = workload.root,
              .settings = choice.settings};
  if (const auto* bigraph = std::get_if<BiGraph>(&scenario.fabric.spec)) out.bigraph = {bigraph->switches, bigraph->nodes_per_switch};
  return out;
}

std::vector<Problem> algorithm_problems(const Scenario& scenario, const AlgorithmChoice& choice, const std::string& at) {
  std::vector<Problem> out = constraints(request_of(scenario, choice));
  for (Problem& problem : out) {
    if (problem.where == "/algorithm")
      problem.where = at;
    else if (problem.where == "/root")
      problem.where = "/workload/root";
    else if (problem.where == "/ranks")
      problem = {"/workload/ranks", fmt::format("{} (for {})", problem.what, choice.name)};
    else if (problem.where == "/fabric/type")
      problem.what += fmt::format("; got \"{}\"", type_name(scenario.fabric.spec));
    else if (problem.where.starts_with("/fabric"))
      problem.what += fmt::format(" (for {})", choice.name);
    else
      problem.where = at + problem.where;
  }
  return out;
}

}  // namespace weft
