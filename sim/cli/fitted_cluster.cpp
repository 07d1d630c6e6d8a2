#include "sim/cli/fitted_cluster.hpp"

#include "kernels/base/error.hpp"
#include "models/server/server_fabric.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include <fmt/ranges.h>

namespace weft {
namespace {

// What the server was made of, or would have been.
Server as_the_preset(const Server& server) {
  if (server.preset == name_of_cpu_host) return cpu_host(as_cpu_host(server));
  if (server.preset == name_of_shared_gpu) return shared_gpu(server.ranks);
  return server_preset(server.preset);
}

using LinkEnds = std::tuple<std::string, std::string, int>;  // parallel links are numbered

std::map<LinkEnds, LinkSpec> links_of(const Server& server) {
  std::map<LinkEnds, LinkSpec> out;
  for (const ServerLink& link : server.links) {
    int number = 0;
    while (out.contains({link.from, link.to, number})) ++number;
    out[{link.from, link.to, number}] = link.spec();
  }
  return out;
}

std::string rate_and_latency(const LinkSpec& spec) { return fmt::format("{} {}", to_string(spec.bandwidth), to_string(spec.latency)); }

using Rates = std::pair<BitsPerSecond, BitsPerSecond>;

void widen(std::optional<Rates>& rates, const Rates& by) {
  if (!rates) rates = by;
  rates = {std::min(rates->first, by.first), std::max(rates->second, by.second)};
}

void go_over(const Fabric& cluster, int from, int to, std::vector<Hop>& path, std::optional<WaysBetweenServers>& out) {
  path.clear();
  cluster.append_path(from, to, 0, path);
  WaysBetweenServers way;
  for (const Hop& hop : path) {
    if (cluster.device(cluster.to(hop.link)).kind == DeviceKind::network_switch) ++way.most;
    const Link& link = cluster.link(hop.link);
    if (cluster.between_switches(hop.link) && !link.in_server) widen(way.links, {link.bandwidth, link.bandwidth});
  }
  way.fewest = way.most;
  if (out)
    out->include(way);
  else
    out = way;
}

}  // namespace

std::string name_of_links(const Server& server) {
  std::string name = short_name(server);
  if (server.preset.empty() || server.is_sub_node()) return name;
  const Server usual = as_the_preset(server);
  const std::map<LinkEnds, LinkSpec> before = links_of(usual);
  std::vector<std::string> other;
  std::map<std::string, std::vector<std::string>> ends;  // by rate and latency
  for (const auto& [between, spec] : links_of(server))
    if (const auto at = before.find(between); at == before.end() || at->second != spec)
      ends[rate_and_latency(spec)].push_back(fmt::format("{}-{}", std::get<0>(between), std::get<1>(between)));
  for (const auto& [spec, links] : ends)
    other.push_back(links.size() == 1 ? fmt::format("{} {}", links.front(), spec)
                                      : fmt::format("{} from {} to {} {}", links.size(), links.front(), links.back(), spec));
  if (server.memory != usual.memory) other.push_back("host memory " + rate_and_latency(server.memory));
  if (server.policy != usual.policy || server.nic_of_gpu != usual.nic_of_gpu) other.emplace_back("other ways between its devices");
  return other.empty() ? name : fmt::format("{} with other links: {}", name, fmt::join(other, ", "));
}

void WaysBetweenServers::include(const WaysBetweenServers& other) {
  fewest = std::min(fewest, other.fewest), most = std::max(most, other.most);
  if (other.links) widen(links, *other.links);
}

std::optional<WaysBetweenServers> ways_of_ranks(const Scenario& scenario, std::span<const int> placement) {
  const int gpus = scenario.server.gpu_count();
  const auto is_apart = [&](int a, int b) { return a / gpus != b / gpus; };
  if (std::ranges::none_of(placement, [&](int endpoint) { return is_apart(endpoint, placement.front()); })) return {};
  if (std::holds_alternative<Star>(scenario.fabric.spec)) return WaysBetweenServers{.fewest = 1, .most = 1};  // of as many nodes as wanted
  std::optional<WaysBetweenServers> out;
  try {
    const auto cluster = build(scenario.fabric.spec, scenario.server);
    if (std::ranges::any_of(placement, [&](int endpoint) { return endpoint >= cluster->endpoints(); })) return {};
    std::vector<Hop> path;
    for (std::size_t rank = 1; rank < placement.size(); ++rank)
      for (const int other : {placement.front(), placement[rank - 1]})
        if (is_apart(other, placement[rank])) go_over(*cluster, other, placement[rank], path, out);
  } catch (const InputError&) {
    return {};
  }
  return out;
}

std::optional<WaysBetweenServers> ways_of_ranks(const Scenario& scenario, int ranks) {
  if (std::holds_alternative<Star>(scenario.fabric.spec) && scenario.placement.policy == PlacementPolicy::linear)
    return ranks > scenario.server.gpu_count() ? std::optional(WaysBetweenServers{.fewest = 1, .most = 1}) : std::nullopt;
  try {
    return ways_of_ranks(scenario, place(scenario.placement, ranks, scenario.fabric.spec, scenario.server));
  } catch (const InputError&) {
    return {};
  }
}

}  // namespace weft
