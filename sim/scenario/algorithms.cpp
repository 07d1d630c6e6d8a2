#include "sim/scenario/algorithms.hpp"

#include "models/server/server_fabric.hpp"

#include <algorithm>

namespace weft {

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : algorithms())
    if (std::find(names.begin(), names.end(), algorithm.name) == names.end()) names.emplace_back(algorithm.name);
  return names;
}

AlgorithmChoice with_server_defaults(const Scenario& scenario, AlgorithmChoice choice) {
  const Algorithm* algorithm = find_algorithm(scenario.workload.collective, choice.name);
  const int gpus = scenario.server.gpu_count();
  if (!algorithm || choice.settings.group != 0 || gpus == 1) return choice;
  const auto ranks = scenario.workload.ranks > 0 ? scenario.workload.ranks : endpoints(scenario.fabric.spec, scenario.server);
  const bool rings = algorithm->staggers && choice.settings.channels > 1 && ranks % gpus == 0;
  if (algorithm->takes_group || rings) choice.settings.group = gpus;
  return choice;
}

Request request_of(const Scenario& scenario, const AlgorithmChoice& choice) {
  const Workload& workload = scenario.workload;
  Request out{.collective = workload.collective,
              .algorithm = choice.name,
              .ranks = workload.ranks > 0 ? workload.ranks : static_cast<int>(endpoints(scenario.fabric.spec, scenario.server)),
              .root = workload.root,
              .settings = with_server_defaults(scenario, choice).settings};
  const FabricSpec ports = ports_of(scenario.fabric.spec, scenario.server);
  if (const auto* bigraph = std::get_if<BiGraph>(&ports)) out.bigraph = {bigraph->switches, bigraph->nodes_per_switch};
  return out;
}

std::vector<Problem> algorithm_problems(const Scenario& scenario, const AlgorithmChoice& choice, const std::string& at) {
  const bool on_ports = choice.name == "hdrm" && std::holds_alternative<BiGraph>(scenario.fabric.spec);
  if (on_ports && !has_nic_for_each_gpu(scenario.server))
    return {{at, fmt::format("hdrm needs a NIC for each GPU; the server has {} GPUs and {} NICs", scenario.server.gpu_count(),
                             scenario.server.nic_count())}};
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
