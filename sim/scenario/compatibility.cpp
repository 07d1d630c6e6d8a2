#include "sim/scenario/compatibility.hpp"

#include "sim/scenario/algorithms.hpp"
#include "sim/scenario/scenario_fields.hpp"

#include <algorithm>
#include <bit>
#include <set>

namespace weft {
namespace {

bool clean(const Input& in, std::string_view part) {
  return std::none_of(in.problems.begin(), in.problems.end(), [&](const Problem& p) {
    return p.where.starts_with(part) && (p.where.size() == part.size() || p.where[part.size()] == '/');
  });
}

// The pointer of element i of a key that may hold one value or a list.
std::string element(const Json& json, const char* pointer, std::size_t i) {
  const Json::json_pointer at(pointer);
  return json.contains(at) && json.at(at).is_array() ? fmt::format("{}/{}", pointer, i) : pointer;
}

int ranks_of(const Scenario& scenario) {
  return scenario.workload.ranks > 0 ? scenario.workload.ranks : static_cast<int>(endpoints(scenario.fabric.spec));
}

void check_workload(const Json& json, const Workload& workload, Input& in) {
  if (!defined(workload.op, workload.dtype))
    in.problems.push_back({"/workload/op", fmt::format("\"{}\" is not defined on {}; it is on integers only", name_of(workload.op),
                                                       name_of(workload.dtype))});
  const auto element_bytes = static_cast<std::int64_t>(size_of(workload.dtype));
  for (std::size_t i = 0; i < workload.sizes.size(); ++i)
    if (workload.sizes[i].count % element_bytes != 0)
      in.problems.push_back(
          {element(json, "/workload/size", i), fmt::format("must be a multiple of {} bytes, the size of a {}, got \"{}\"", element_bytes,
                                                           name_of(workload.dtype), to_string(workload.sizes[i]))});
}

void check_ranks(const Scenario& scenario, Input& in) {
  const auto places = endpoints(scenario.fabric.spec);
  const int ranks = ranks_of(scenario);
  if (ranks > places)
    in.problems.push_back({"/workload/ranks", fmt::format("must be at most {}, the endpoints of the fabric, got {}", places, ranks)});
}

void check_algorithms(const Json& json, const Scenario& scenario, Input& in) {
  for (std::size_t i = 0; i < scenario.workload.algorithms.size(); ++i) {
    const std::string at = element(json, "/workload/algorithm", i);
    for (Problem& problem : algorithm_problems(scenario, scenario.workload.algorithms[i], at)) in.problems.push_back(std::move(problem));
  }
}

void check_hdrm_placement(const Scenario& scenario, Input& in) {
  const auto problem = [&](std::string what) { in.problems.push_back({"/placement", "hdrm " + std::move(what)}); };
  const BiGraph* bigraph = std::get_if<BiGraph>(&scenario.fabric.spec);
  if (!bigraph) return problem(fmt::format("needs a bigraph, got a {}", type_name(scenario.fabric.spec)));
  const auto power_of_two = [](int n) { return std::has_single_bit(static_cast<unsigned>(n)); };
  if (!power_of_two(bigraph->switches))
    problem(fmt::format("needs a number of switches that is a power of two, got {}", bigraph->switches));
  if (!power_of_two(bigraph->nodes_per_switch))
    problem(fmt::format("needs a number of nodes per switch that is a power of two, got {}", bigraph->nodes_per_switch));
  if (ranks_of(scenario) != bigraph->endpoints())
    problem(fmt::format("needs all {} endpoints, got {} ranks", bigraph->endpoints(), ranks_of(scenario)));
}

void check_listed_placement(const Scenario& scenario, Input& in) {
  const auto places = endpoints(scenario.fabric.spec);
  const auto& nodes = scenario.placement.nodes;
  std::set<int> taken;
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    const auto problem = [&](std::string what) { in.problems.push_back({fmt::format("/placement/nodes/{}", rank), std::move(what)}); };
    if (nodes[rank] < 0 || nodes[rank] >= places)
      problem(fmt::format("must be an endpoint, between 0 and {}, got {}", places - 1, nodes[rank]));
    else if (!taken.insert(nodes[rank]).second)
      problem(fmt::format("endpoint {} has a rank already", nodes[rank]));
  }
  if (scenario.workload.ranks > 0 && nodes.size() < static_cast<std::size_t>(scenario.workload.ranks))
    in.problems.push_back(
        {"/placement/nodes", fmt::format("must list an endpoint for each of the {} ranks, got {}", scenario.workload.ranks, nodes.size())});
}

}  // namespace

void check_compatibility(const Json& json, const Scenario& scenario, Input& in) {
  const bool fabric_read = clean(in, "/fabric"), workload_read = clean(in, "/workload"), placement_read = clean(in, "/placement");
  bool fabric_good = fabric_read;
  if (fabric_read)
    for (Problem& problem : problems(scenario.fabric.spec)) {
      in.problems.push_back({"/fabric" + problem.where, std::move(problem.what)});
      fabric_good = false;
    }
  const auto& available = available_networks();
  if (clean(in, "/network") && std::find(available.begin(), available.end(), scenario.network) == available.end()) {
    std::vector<std::string> names;
    for (const NetworkKind kind : available) names.emplace_back(name_of(kind));
    in.problems.push_back(
        {"/network", fmt::format("\"{}\" is not in this build; available: {}", name_of(scenario.network), quoted_list(names))});
  }
  if (workload_read) check_workload(json, scenario.workload, in);
  if (!fabric_good || !workload_read) return;
  check_ranks(scenario, in);
  if (!clean(in, "/workload/ranks")) return;
  check_algorithms(json, scenario, in);
  if (placement_read && scenario.placement.policy == PlacementPolicy::hdrm) check_hdrm_placement(scenario, in);
  if (placement_read && scenario.placement.policy == PlacementPolicy::list) check_listed_placement(scenario, in);
}

}  // namespace weft
