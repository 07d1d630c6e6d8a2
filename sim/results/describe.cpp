#include "sim/results/describe.hpp"

#include "sim/scenario/scenario_fields.hpp"

#include <algorithm>
#include <map>

namespace weft {
namespace {

struct Shape {
  std::string operator()(const BiGraph& b) const { return fmt::format("bigraph, {} switches x {} nodes", b.switches, b.nodes_per_switch); }
  std::string operator()(const FatTree& t) const {
    if (t.three_tiers()) return fmt::format("fat_tree, k = {}", t.k);
    return fmt::format("fat_tree, {} leaves x {} nodes, {} spines", t.leaves, t.nodes_per_leaf, t.spines);
  }
  std::string operator()(const Star& s) const { return fmt::format("star, {} nodes", s.nodes); }
  std::string operator()(const Torus& t) const { return fmt::format("torus {} x {} nodes", fmt::join(t.dims, "x"), t.nodes_per_switch); }
  std::string operator()(const Dragonfly& d) const {
    return fmt::format("dragonfly, {} groups x {} routers x {} nodes", d.groups, d.routers_per_group, d.nodes_per_router);
  }
  std::string operator()(const GraphFabric& g) const {
    return fmt::format("graph, {} nodes, {} switches, {} links", g.nodes.size(), g.switches.size(), g.links.size());
  }
};

std::string text(const LinkSpec& link) { return fmt::format("{} {}", to_string(link.bandwidth), to_string(link.latency)); }

}  // namespace

std::string describe(const FabricSpec& spec) { return std::visit(Shape{}, spec); }

std::string describe_links(const FabricSpec& spec) {
  return std::visit(
      [](const auto& s) {
        std::string out;
        if constexpr (requires { s.host_link; }) out += "host_link " + text(s.host_link);
        if constexpr (requires { s.fabric_link; }) out += ", fabric_link " + text(s.fabric_link);
        if constexpr (requires { s.global_link; }) out += ", global_link " + text(s.global_link);
        return out;
      },
      spec);
}

BitsPerSecond slowest_endpoint(const FabricSpec& spec) {
  return std::visit(
      [](const auto& s) {
        if constexpr (requires { s.host_link; }) {
          return s.host_link.bandwidth;
        } else {
          std::map<std::string, BitsPerSecond> out_of;
          for (const std::string& node : s.nodes) out_of[node] = {};
          for (const GraphLink& link : s.links) {
            if (const auto from = out_of.find(link.from); from != out_of.end()) from->second.count += link.bandwidth.count;
            if (const auto to = out_of.find(link.to); to != out_of.end() && link.bidirectional) to->second.count += link.bandwidth.count;
          }
          BitsPerSecond least{INT64_MAX};
          for (const auto& [node, rate] : out_of) least = std::min(least, rate);
          return least;
        }
      },
      spec);
}

std::string describe(const Placement& placement) {
  switch (placement.policy) {
    case PlacementPolicy::linear:
      return "linear";
    case PlacementPolicy::hdrm:
      return "hdrm";
    case PlacementPolicy::random:
      return fmt::format("random (seed {})", placement.seed);
    case PlacementPolicy::list:
      return "as listed";
  }
  return "";
}

std::string describe(const Ecmp& ecmp) {
  const std::string policy = Form<EcmpPolicy>::write(ecmp.policy).get<std::string>();
  return ecmp.policy == EcmpPolicy::hash ? fmt::format("{} (seed {})", policy, ecmp.seed) : policy;
}

}  // namespace weft
