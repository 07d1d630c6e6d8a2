#include "sim/scenario/ranks_by_server.hpp"

#include "models/server/server_fabric.hpp"
#include "sim/scenario/algorithms.hpp"

#include <algorithm>
#include <map>

namespace weft {
namespace {

RanksByServer neighbours(int ranks, int of_each) { return {.servers = ranks / of_each, .least = of_each, .most = of_each}; }

}  // namespace

RanksByServer ranks_by_server(std::span<const int> seats, int gpus) {
  RanksByServer out;
  std::map<int, std::size_t> numbers;
  for (std::size_t rank = 0; rank < seats.size(); ++rank) {
    const std::size_t at = numbers.try_emplace(seats[rank] / gpus, numbers.size()).first->second;
    if (at == out.ranks.size()) out.ranks.emplace_back();
    out.ranks[at].push_back(static_cast<Rank>(rank));
  }
  if (out.ranks.empty()) return out;
  const auto seat = [&](Rank rank) { return seats[static_cast<std::size_t>(rank)]; };
  Rank next = 0;
  bool in_order = true;
  out.least = static_cast<int>(seats.size());
  for (std::vector<Rank>& server : out.ranks) {
    std::ranges::sort(server, {}, seat);
    const int count = static_cast<int>(server.size());
    out.least = std::min(out.least, count);
    out.most = std::max(out.most, count);
    out.on_first_gpus &= seat(server.back()) % gpus == count - 1;
    for (const Rank rank : server) in_order &= rank == next++;
  }
  out.servers = static_cast<int>(out.ranks.size());
  if (in_order && out.is_even()) out.ranks.clear();
  return out;
}

RanksByServer ranks_by_server(const Scenario& scenario) {
  if (scenario.workload.training.model_parallel > 1) return ranks_by_server(scenario_of_calls(scenario));
  const int ranks = std::max(ranks_of(scenario), 1), gpus = scenario.server.gpu_count();
  if (gpus == 1) return neighbours(ranks, 1);
  if (scenario.placement.policy == PlacementPolicy::linear && (ranks <= gpus || ranks % gpus == 0))
    return neighbours(ranks, std::min(ranks, gpus));
  if (!problems(scenario.placement, ranks, scenario.fabric.spec, scenario.server).empty()) return neighbours(ranks, 1);
  return ranks_by_server(place(scenario.placement, ranks, scenario.fabric.spec, scenario.server), gpus);
}

RanksByServer ranks_by_server(const Scenario& scenario, const AlgorithmSettings& s) {
  RanksByServer out = ranks_by_server(scenario);
  if (s.group == 0 || (out.is_even() && s.group == out.least)) return out;
  const int ranks = std::max(ranks_of(scenario) / std::max(scenario.workload.training.model_parallel, 1), 1);
  out = neighbours(ranks, std::min(s.group, ranks));
  out.on_first_gpus = false;
  return out;
}

Placement listed(std::span<const int> seats) { return {.policy = PlacementPolicy::list, .nodes = {seats.begin(), seats.end()}}; }

}  // namespace weft
