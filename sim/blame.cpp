#include "sim/blame.hpp"

#include <algorithm>

namespace weft {
namespace {

constexpr std::size_t max_limits = 16;

}  // namespace

CriticalPath critical_path(const PathParts& parts, std::size_t iterations, std::span<const int> placement, const Fabric& fabric) {
  const auto mean = [&](SimTime sum) { return SimTime{sum.ps / static_cast<std::int64_t>(iterations)}; };
  CriticalPath out{
      .latency = mean(parts.latency), .overhead = mean(parts.overhead), .waiting = mean(parts.waiting), .computing = mean(parts.computing)};
  SimTime bandwidth;
  for (const auto& [link, time] : parts.links) {
    bandwidth += time;
    out.limits.push_back({link < 0 || link >= fabric.links() ? std::string(rate_cap_of_a_flow) : fabric.link_name(link), mean(time)});
  }
  for (const auto& [rank, time] : parts.reduce_engines) {
    bandwidth += time;
    const NodeId endpoint = fabric.node_of(placement[static_cast<std::size_t>(rank)]);
    out.limits.push_back({fmt::format("{}{}", fabric.device(endpoint).name, reduce_engine_of_endpoint), mean(time)});
  }
  out.bandwidth = mean(bandwidth);
  std::ranges::stable_sort(out.limits, [](const LimitingResource& a, const LimitingResource& b) { return a.time > b.time; });
  if (out.limits.size() > max_limits) out.limits.resize(max_limits);
  return out;
}

}  // namespace weft
