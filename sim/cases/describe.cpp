#include "sim/cases/describe.hpp"

#include "kernels/base/plural.hpp"
#include "models/server/server_paths.hpp"
#include "models/traces/traced_program.hpp"
#include "sim/scenario/hardware_fields.hpp"
#include "sim/scenario/scenario_fields.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

namespace weft {
namespace {

struct Shape {
  std::string operator()(const BiGraph& b) const {
    return fmt::format("bigraph, {} switches x {}", b.switches, counted(b.nodes_per_switch, "node"));
  }
  std::string operator()(const FatTree& t) const {
    if (t.three_tiers()) return fmt::format("fat_tree, k = {}", t.k);
    return fmt::format("fat_tree, {} x {}, {}", counted(t.leaves, "leaf", "leaves"), counted(t.nodes_per_leaf, "node"),
                       counted(t.spines, "spine"));
  }
  std::string operator()(const Star& s) const { return "star, " + counted(s.nodes, "node"); }
  std::string operator()(const Torus& t) const {
    return fmt::format("torus {} x {}", fmt::join(t.dims, "x"), counted(t.nodes_per_switch, "node"));
  }
  std::string operator()(const Dragonfly& d) const {
    return fmt::format("dragonfly, {} x {} x {}", counted(d.groups, "group"), counted(d.routers_per_group, "router"),
                       counted(d.nodes_per_router, "node"));
  }
  std::string operator()(const GraphFabric& g) const {
    return fmt::format("graph, {}, {}, {}", counted(std::ssize(g.nodes), "node"), counted(std::ssize(g.switches), "switch", "switches"),
                       counted(std::ssize(g.links), "link"));
  }
  std::string operator()(const SimgridFabric& s) const {
    return fmt::format("simgrid, {}: {}, {}", s.file, counted(s.endpoints(), "host"), counted(std::ssize(s.platform->links), "link"));
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

BitsPerSecond slowest_endpoint(const Scenario& scenario, std::span<const int> endpoints) {
  const Server& server = scenario.server;
  FabricSpec with_ranks = scenario.fabric.spec;
  if (auto* graph = std::get_if<GraphFabric>(&with_ranks)) {
    std::vector<std::string> nodes;
    for (const int endpoint : endpoints) nodes.push_back(graph->nodes[static_cast<std::size_t>(endpoint / server.gpu_count())]);
    graph->nodes = std::move(nodes);
  }
  const BitsPerSecond port = slowest_endpoint(with_ranks);
  if (server.is_sub_node()) return port;
  std::map<std::string, double> out_of;
  for (const ServerLink& link : server.links)
    for (const std::string& end : {link.from, link.to}) out_of[end] += static_cast<double>(link.spec().bandwidth.count);
  double slowest = HUGE_VAL;
  for (const std::string& gpu : server.gpus) slowest = std::min(slowest, out_of[gpu]);
  const double n = scenario.workload.ranks, servers = std::ceil(n / server.gpu_count());
  // g ranks of a server share its NICs, and (servers - 1) / servers of their data leaves it, against (n - 1) / n counted.
  if (servers > 1 && scenario.placement.policy == PlacementPolicy::linear)
    slowest = std::min(slowest, server.nic_count() * static_cast<double>(port.count) * ((n - 1) / n) / ((servers - 1) / servers));
  return {static_cast<std::int64_t>(std::min(slowest, 9e18))};
}

std::string describe(const FabricSpec& spec, const Server& server) {
  if (server.is_sub_node()) return describe(spec);
  std::string out = fmt::format("{}; servers {}: {}", describe(spec), server.preset.empty() ? "as described" : server.preset,
                                counted(server.gpu_count(), name_of_endpoint(server)));
  if (server.nics.front() != no_nic) out += ", " + counted(server.nic_count(), "NIC");
  if (server.ranks > 0) return out;
  return out + fmt::format(", policy {}{}", Form<PeerPolicy>::write(server.policy).get<std::string>(),
                           server.wiring == Wiring::rails ? ", on rails" : "");
}

std::string describe(const HostCopies& copies) {
  const std::string gpus = copies.gpus.empty() ? "all GPUs" : fmt::format("GPU {}", fmt::join(copies.gpus, ", "));
  return fmt::format("{} {} on {}, {}", to_string(copies.bytes), Form<Fabric::Copy>::write(copies.direction).get<std::string>(), gpus,
                     copies.period.ps == 0 ? "back to back" : "every " + to_string(copies.period));
}

std::string describe(const HardwareProfile& hardware) {
  const Json values = Form<HardwareProfile>::write(hardware);
  std::vector<std::string> given;
  for (const auto& [key, source] : hardware.sources)
    if (source == given_in_the_scenario && values.contains(key)) {
      const Json& value = values.at(key);
      given.push_back(value.is_structured() ? key : fmt::format("{} {}", key, value.is_string() ? value.get<std::string>() : value.dump()));
    }
  constexpr std::size_t most = 5;
  const std::size_t more = given.size() > most ? given.size() - most : 0;
  given.resize(given.size() - more);
  if (given.empty()) return hardware.name;
  return fmt::format("{} ({}{})", hardware.name, fmt::join(given, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

std::string describe(const TrafficSpec& traffic) {
  std::string out = fmt::format("{} of {}, {}", Form<TrafficSpec>::write(traffic).at("pattern").get<std::string>(), to_string(traffic.size),
                                traffic.period.ps == 0 ? "back to back" : "every " + to_string(traffic.period));
  if (traffic.start.ps > 0) out += ", from " + to_string(traffic.start);
  if (traffic.stop != SimTime::never()) out += ", to " + to_string(traffic.stop);
  if (traffic.on.ps > 0) out += fmt::format(", {} on and {} off", to_string(traffic.on), to_string(traffic.off));
  return out;
}

std::string describe(const Placement& placement) {
  switch (placement.policy) {
    case PlacementPolicy::linear:
      return "linear";
    case PlacementPolicy::hdrm:
      return "hdrm";
    case PlacementPolicy::random:
      return fmt::format("random (seed {})", placement.seed);
    case PlacementPolicy::round_robin:
      return "round_robin";
    case PlacementPolicy::list:
      return "as listed";
  }
  return "";
}

std::string describe(const ProgrammableSwitches& p) {
  if (p == ProgrammableSwitches{}) return "";
  std::string out = p.switches == ProgrammableSwitches::edge ? "edge" : fmt::format("[{}]", fmt::join(p.switches, ", "));
  out += fmt::format(", {} aggregators", p.aggregators);
  if (p.payload.count > 0) out += fmt::format(", payload up to {}", to_string(p.payload));
  if (p.packets_per_second > 0) out += fmt::format(", {} packets/s", p.packets_per_second);
  if (p.delay.ps > 0) out += fmt::format(", {} each", to_string(p.delay));
  return out;
}

std::string describe(const Ecmp& ecmp) {
  const std::string policy = Form<EcmpPolicy>::write(ecmp.policy).get<std::string>();
  return ecmp.policy == EcmpPolicy::hash ? fmt::format("{} (seed {})", policy, ecmp.seed) : policy;
}

std::string describe_program(const Workload& workload) {
  if (!workload.trace.given()) return "a program of " + counted(std::ssize(workload.program), "operation");
  const TracedProgram& trace = *workload.trace.program;
  std::size_t operations = 0;
  for (const TracedRank& rank : trace.ranks) operations += rank.operations.size();
  return fmt::format("a program of {}, traced on {} ({})", counted(static_cast<std::int64_t>(operations), "operation"),
                     counted(std::ssize(trace.ranks), "rank"), trace.format);
}

}  // namespace weft
