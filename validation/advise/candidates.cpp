#include "sim/scenario/algorithms.hpp"
#include "validation/advise/advise.hpp"

#include <algorithm>
#include <set>

namespace weft {
namespace {

std::vector<AlgorithmSettings> variants_of(const Algorithm& algorithm, const Scenario& scenario) {
  const int nics = std::max(1, scenario.server.nic_count());
  std::vector<AlgorithmSettings> out;
  std::set<int> channels = {1};
  if (algorithm.can_be_cut) channels.insert(nics);
  if (algorithm.cuts_itself) {  // NCCL's
    for (const NcclAlgorithm pattern : {NcclAlgorithm::ring, NcclAlgorithm::tree})
      for (const NcclProtocol protocol : {NcclProtocol::ll, NcclProtocol::ll128, NcclProtocol::simple})
        out.push_back({.channels = nics, .nccl = pattern, .protocol = protocol});
    if (!scenario.fabric.sharp) return out;
    for (const NcclAlgorithm pattern : {NcclAlgorithm::collnet_direct, NcclAlgorithm::collnet_chain, NcclAlgorithm::nvls})
      if (pattern != NcclAlgorithm::nvls || switch_adds(scenario.server))
        out.push_back({.channels = nics, .nccl = pattern, .protocol = NcclProtocol::simple});
    return out;
  }
  const std::vector<int> pieces = algorithm.wants_pieces ? std::vector{1, 16} : std::vector{0};
  for (const int c : channels)
    for (const int p : pieces) out.push_back({.channels = c, .pieces = p});
  return out;
}

}  // namespace

std::vector<AlgorithmChoice> advise_candidates(const Scenario& scenario) {
  std::vector<AlgorithmChoice> out;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.collective != scenario.workload.collective || algorithm.takes_servers || algorithm.chooses != nullptr) continue;
    for (const AlgorithmSettings& settings : variants_of(algorithm, scenario)) {
      const AlgorithmChoice choice = with_server_defaults(scenario, {.name = std::string(algorithm.name), .settings = settings});
      if (!algorithm_problems(scenario, choice, "").empty()) continue;
      if (std::ranges::find(out, label(choice), [](const AlgorithmChoice& c) { return label(c); }) == out.end()) out.push_back(choice);
    }
  }
  return out;
}

std::int64_t messages_at_once(const Scenario& scenario, const AlgorithmChoice& choice) {
  const Algorithm* algorithm = find_algorithm(scenario.workload.collective, choice.name);
  if (!algorithm || algorithm->cuts_itself) return 0;
  const Price p = price(request_of(scenario, choice));
  return p.messages / std::max(p.steps, 1);
}

}  // namespace weft
