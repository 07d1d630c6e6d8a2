#include "sim/cases/stand_ins.hpp"

#include "models/server/server_fabric.hpp"
#include "models/traces/traced_job.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace weft {
namespace {

constexpr int fewest_places = 16, max_places = 1 << 12;
constexpr int some_ranks = 8, other_ranks = 4;  // in the place of "all": few, or none of the endpoints would be left to jobs

int bit_ceil_of(double value) { return static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::ceil(value)))); }

}  // namespace

std::vector<Scenario> stand_ins(const Scenario& scenario, const FabricKnown& known) {
  using namespace literals;
  Scenario one = scenario;
  const Workload& w = scenario.workload;
  std::int64_t wanted = w.trace.given() ? world_of(*w.trace.program) : some_ranks;
  if (w.ranks > 0 && w.ranks <= max_places) wanted = w.ranks;
  for (const JobChoice& job : scenario.jobs) wanted += job.ranks > 0 ? job.ranks : w.ranks;
  for (const AlgorithmChoice& choice : w.algorithms) wanted += extra_servers(choice.settings);
  const int places = static_cast<int>(std::clamp<std::int64_t>(wanted, fewest_places, max_places));
  Scenario other = one;
  if (!w.trace.given() && (w.ranks == 0 || w.ranks > max_places)) one.workload.ranks = some_ranks, other.workload.ranks = other_ranks;
  if (!known.sharp) one.fabric.sharp = false, other.fabric.sharp = true;
  if (!known.server) one.server = Server{}, other.server = server_preset("dgx_h100");
  const int nics = std::max(one.server.nic_count(), other.server.nic_count()), root = bit_ceil_of(std::sqrt(places)), leaves = 4 * nics;
  const LinkSpec link{.bandwidth = 100_Gbps, .latency = 1_us};
  one.fabric.spec = BiGraph{.switches = 2 * root * nics, .nodes_per_switch = root, .host_link = link, .fabric_link = link};
  other.fabric.spec =
      FatTree{.leaves = leaves, .nodes_per_leaf = bit_ceil_of(1.0 * places / leaves), .spines = 2, .host_link = link, .fabric_link = link};
  if (endpoints(one.fabric.spec, one.server) == endpoints(other.fabric.spec, other.server))
    std::get<FatTree>(other.fabric.spec).nodes_per_leaf *= 2;
  for (Scenario* s : {&one, &other})
    if (!problems(s->fabric.spec, s->server).empty()) s->server = Server{};
  return {std::move(one), std::move(other)};
}

bool is_of_fabric(const Problem& problem) {
  constexpr std::array<std::string_view, 3> places = {"/fabric", "/server", "/faults/failures"};
  return std::ranges::any_of(places, [&](std::string_view place) { return problem.where.starts_with(place); });
}

}  // namespace weft
