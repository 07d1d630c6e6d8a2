#include "models/fabric/programmable.hpp"

#include "collectives/in_network/atp.hpp"

#include <algorithm>
#include <map>

namespace weft {

const std::vector<std::string> ProgrammableSwitches::edge = {"edge"};

namespace {

constexpr std::int64_t bytes_per_value = 4;

std::map<std::string, NodeId> switches_of(const Fabric& fabric) {
  std::map<std::string, NodeId> out;
  for (NodeId node = 0; node < fabric.devices(); ++node)
    if (fabric.device(node).kind == DeviceKind::network_switch) out.emplace(fabric.device(node).name, node);
  return out;
}

}  // namespace

std::vector<NodeId> edge_switches(const Fabric& fabric) {
  std::vector<NodeId> by_node(static_cast<std::size_t>(fabric.devices()), -1), out;
  for (LinkId id = fabric.links() - 1; id >= 0; --id)
    if (fabric.device(fabric.to(id)).kind == DeviceKind::network_switch) by_node[static_cast<std::size_t>(fabric.from(id))] = fabric.to(id);
  for (int e = 0; e < fabric.endpoints(); ++e) out.push_back(by_node[static_cast<std::size_t>(fabric.node_of(e))]);
  return out;
}

std::vector<NodeId> programmable_nodes(const ProgrammableSwitches& p, const Fabric& fabric) {
  std::vector<NodeId> out;
  if (p.switches == ProgrammableSwitches::edge) {
    out = edge_switches(fabric);
    std::erase(out, -1);
  } else {
    const std::map<std::string, NodeId> all = switches_of(fabric);
    for (const std::string& name : p.switches) out.push_back(all.at(name));
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<Problem> problems(const ProgrammableSwitches& p, const Fabric& fabric) {
  std::vector<Problem> out;
  if (p.payload.count != 0 && p.payload.count < bytes_per_value)
    out.push_back({"/payload", fmt::format("must hold at least one value of {} bytes, got {}", bytes_per_value, to_string(p.payload))});
  if (p.aggregators < 1 || p.aggregators > max_aggregators)
    out.push_back({"/aggregators", fmt::format("must be between 1 and {}, got {}", max_aggregators, p.aggregators)});
  if (p.mark_above.count < 0) out.push_back({"/mark_above", fmt::format("must not be negative, got {}", to_string(p.mark_above))});
  if (p.packets_per_second < 0) out.push_back({"/packets_per_second", fmt::format("must be at least 1, got {}", p.packets_per_second)});
  if (p.switches == ProgrammableSwitches::edge) return out;
  const std::map<std::string, NodeId> all = switches_of(fabric);
  for (std::size_t i = 0; i < p.switches.size(); ++i)
    if (!all.contains(p.switches[i]))
      out.push_back({fmt::format("/switches/{}", i),
                     fmt::format("the fabric has no switch \"{}\"{}", p.switches[i],
                                 all.empty() ? "" : fmt::format("; it has switches such as \"{}\"", all.begin()->first))});
  return out;
}

}  // namespace weft
