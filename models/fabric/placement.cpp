#include "models/fabric/placement.hpp"

#include "collectives/algorithms/hdrm.hpp"
#include "models/fabric/validation.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>
#include <unordered_map>

namespace weft {
namespace {

bool is_power_of_two(int n) { return n > 0 && std::has_single_bit(static_cast<unsigned>(n)); }

// The BiGraph within the fabric that `ranks` ranks of HDRM fill.
BiGraphShape hdrm_part(const BiGraph& fabric, int ranks) {
  const int switches = std::min(fabric.switches, ranks);
  return {switches, ranks / switches};
}

std::vector<int> linear(int count) {
  std::vector<int> nodes(static_cast<std::size_t>(count));
  std::iota(nodes.begin(), nodes.end(), 0);
  return nodes;
}

std::vector<int> hdrm(const BiGraph& fabric, int ranks) {
  if (ranks == 1) return {0};
  const BiGraphShape part = hdrm_part(fabric, ranks);
  std::vector<int> nodes = hdrm_placement(part);
  for (int& node : nodes) {
    const int on = node / part.nodes_per_switch, slot = node % part.nodes_per_switch;
    node = on * fabric.nodes_per_switch + slot;
  }
  return nodes;
}

// The first ranks of a shuffle (Fisher & Yates), written out because the library's differs from one to the next. The bias
// of the remainder is below 2^-43 for a million endpoints.
std::vector<int> random(std::uint64_t seed, int ranks, std::vector<int> nodes) {
  const auto endpoints = static_cast<int>(nodes.size());
  std::mt19937_64 bits(seed);
  for (int r = 0; r < ranks; ++r) {
    const auto other = r + static_cast<int>(bits() % static_cast<std::uint64_t>(endpoints - r));
    std::swap(nodes[static_cast<std::size_t>(r)], nodes[static_cast<std::size_t>(other)]);
  }
  nodes.resize(static_cast<std::size_t>(ranks));
  return nodes;
}

std::vector<int> round_robin(int ranks, std::vector<int> nodes, std::span<const int> group_of) {
  std::unordered_map<int, int> seen;         // by group: endpoints so far
  std::vector<std::pair<int, int>> turn_of;  // turn, place among the nodes
  for (std::size_t i = 0; i < nodes.size(); ++i)
    turn_of.emplace_back(seen[group_of[static_cast<std::size_t>(nodes[i])]]++, static_cast<int>(i));
  std::ranges::sort(turn_of);
  std::vector<int> out;
  for (int r = 0; r < ranks; ++r) out.push_back(nodes[static_cast<std::size_t>(turn_of[static_cast<std::size_t>(r)].second)]);
  return out;
}

void check_list(const std::vector<int>& nodes, int ranks, std::int64_t endpoints, Problems& found) {
  found.require(static_cast<int>(nodes.size()) == ranks, "/nodes", "must list one endpoint for each of {} ranks, got {}", ranks,
                nodes.size());
  std::unordered_map<int, std::size_t> rank_on;
  for (std::size_t r = 0; r < nodes.size(); ++r) {
    const std::string where = fmt::format("/nodes/{}", r);
    found.within(0, endpoints - 1, where, nodes[r]);
    const auto [at, first] = rank_on.emplace(nodes[r], r);
    found.require(first, where, "puts rank {} on endpoint {}, where rank {} is", r, nodes[r], at->second);
  }
}

void check_hdrm(const FabricSpec& fabric, int ranks, Problems& found) {
  const BiGraph* bigraph = std::get_if<BiGraph>(&fabric);
  found.require(bigraph, "", "hdrm places ranks on a bigraph, the fabric is a {}", type_name(fabric));
  if (!bigraph) return;
  found.require(is_power_of_two(bigraph->switches), "", "hdrm needs a power of two of switches, the bigraph has {}", bigraph->switches);
  found.require(is_power_of_two(ranks), "", "hdrm places a power of two of ranks, got {}", ranks);
}

}  // namespace

std::vector<Problem> problems(const Placement& placement, int ranks, const FabricSpec& fabric) {
  Problems found;
  found.require(ranks >= 1, "", "must place at least 1 rank, got {}", ranks);
  found.require(ranks <= endpoints(fabric), "", "must place at most {} ranks, one on each endpoint, got {}", endpoints(fabric), ranks);
  if (placement.policy == PlacementPolicy::list) check_list(placement.nodes, ranks, endpoints(fabric), found);
  if (placement.policy == PlacementPolicy::hdrm) check_hdrm(fabric, ranks, found);
  return found.take();
}

std::vector<int> place(const Placement& placement, int ranks, const FabricSpec& fabric) {
  refuse("placement", problems(placement, ranks, fabric));
  switch (placement.policy) {
    case PlacementPolicy::linear:
      return linear(ranks);
    case PlacementPolicy::hdrm:
      return hdrm(std::get<BiGraph>(fabric), ranks);
    case PlacementPolicy::random:
    case PlacementPolicy::list:
      return place_among(placement, ranks, linear(static_cast<int>(endpoints(fabric))), {});
    case PlacementPolicy::round_robin:
      return place_among(placement, ranks, linear(static_cast<int>(endpoints(fabric))), switch_of_endpoint(fabric));
  }
  return {};
}

std::vector<int> place_among(const Placement& placement, int ranks, std::vector<int> free, std::span<const int> group_of) {
  switch (placement.policy) {
    case PlacementPolicy::linear:
      free.resize(static_cast<std::size_t>(ranks));
      return free;
    case PlacementPolicy::random:
      return random(placement.seed, ranks, std::move(free));
    case PlacementPolicy::round_robin:
      return round_robin(ranks, std::move(free), group_of);
    case PlacementPolicy::list:
      return placement.nodes;
    case PlacementPolicy::hdrm:
      check(false, "hdrm needs the whole fabric");
  }
  return {};
}

std::vector<int> switch_of_endpoint(const FabricSpec& spec) {
  const auto fabric = build(spec);
  std::vector<int> out(static_cast<std::size_t>(fabric->endpoints()), -1);
  std::unordered_map<NodeId, int> endpoint_at;
  for (int e = 0; e < fabric->endpoints(); ++e) endpoint_at[fabric->node_of(e)] = e;
  for (LinkId id = 0; id < fabric->links(); ++id)
    if (const auto e = endpoint_at.find(fabric->from(id)); e != endpoint_at.end())
      if (int& at = out[static_cast<std::size_t>(e->second)]; at < 0) at = static_cast<int>(fabric->to(id));
  return out;
}

}  // namespace weft
