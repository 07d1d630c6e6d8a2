#include "models/fabric/placement.hpp"
#include "models/nccl_tuning.hpp"
#include "models/server/server_fabric.hpp"
#include "sim/cases/nccl_question.hpp"
#include "sim/scenario/algorithms.hpp"
#include "validation/advise/advise.hpp"

#include <algorithm>
#include <limits>
#include <set>

namespace weft {
namespace {

// All that NCCL would choose among by itself, at some size, had it every protocol.
std::vector<Regime> regimes_of_nccl(const Scenario& scenario) {
  const AlgorithmChoice nccl = {.name = "nccl", .settings = {.channels = 0}};
  if (!algorithm_problems(scenario, nccl, "").empty()) return {};
  const auto fabric = build(scenario.fabric.spec, scenario.server);
  const std::vector<int> placement = place(scenario.placement, ranks_of(scenario), scenario.fabric.spec, scenario.server);
  const NcclQuestion question =
      nccl_question({scenario, scenario.hardware, *fabric, placement, {}}, with_server_defaults(scenario, nccl).settings);
  std::vector<Regime> out;
  for (const Bytes size : {Bytes{1}, Bytes{std::numeric_limits<std::int64_t>::max()}})
    for (const Regime& regime : nccl_regimes(question, size)) out.push_back(regime);
  return out;
}

// But for protocols that the profile's fit found not to be there.
std::vector<AlgorithmSettings> variants_of_nccl(const Scenario& scenario) {
  std::vector<AlgorithmSettings> out;
  for (const Regime& regime : regimes_of_nccl(scenario))
    if (!lacks_protocol(scenario.hardware, regime)) out.push_back({.channels = 0, .nccl = regime.pattern, .protocol = regime.protocol});
  return out;
}

std::vector<AlgorithmSettings> variants_of(const Algorithm& algorithm, const Scenario& scenario) {
  if (algorithm.cuts_itself) return variants_of_nccl(scenario);
  const int nics = std::max(1, scenario.server.nic_count());
  std::vector<AlgorithmSettings> out;
  std::set<int> channels = {1};
  if (algorithm.can_be_cut) channels.insert(nics);
  const std::vector<int> pieces = algorithm.wants_pieces ? std::vector{1, 16} : std::vector{0};
  for (const int c : channels)
    for (const int p : pieces) out.push_back({.channels = c, .pieces = p});
  return out;
}

}  // namespace

std::set<NcclProtocol> protocols_left_out(const Scenario& scenario) {
  const std::vector<AlgorithmChoice>& listed = scenario.workload.algorithms;
  std::set<NcclProtocol> out;
  if (listed.size() > 1 && std::ranges::find(listed, "nccl", &AlgorithmChoice::name) == listed.end()) return out;
  for (const Regime& regime : regimes_of_nccl(scenario))
    if (lacks_protocol(scenario.hardware, regime)) out.insert(regime.protocol);
  return out;
}

std::vector<AlgorithmChoice> advise_candidates(const Scenario& scenario) {
  const std::vector<AlgorithmChoice>& listed = scenario.workload.algorithms;
  const bool by_list = listed.size() > 1;
  std::vector<AlgorithmChoice> out;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.collective != scenario.workload.collective || algorithm.takes_servers || algorithm.chooses != nullptr) continue;
    std::vector<AlgorithmSettings> all = variants_of(algorithm, scenario);
    if (by_list) {
      if (std::ranges::find(listed, algorithm.name, &AlgorithmChoice::name) == listed.end()) continue;
      for (const AlgorithmChoice& own : listed)
        if (own.name == algorithm.name && !algorithm.cuts_itself) all.push_back(own.settings);
    }
    for (const AlgorithmSettings& settings : all) {
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
  const Cost p = cost(request_of(scenario, choice));
  return p.messages / std::max(p.steps, 1);
}

}  // namespace weft
