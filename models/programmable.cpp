#include "models/programmable.hpp"

#include <algorithm>
#include <map>

namespace weft {

const std::vector<std::string> ProgrammableSwitches::edge = {"edge"};

namespace {

std::map<std::string, NodeId> switches_of(const Fabric& fabric) {
  std::map<std::string, NodeId> out;
  for (NodeId node = 0; node < static_cast<NodeId>(boost::num_vertices(fabric.graph())); ++node)
    if (fabric.device(node).kind == DeviceKind::network_switch) out.emplace(fabric.device(node).name, node);
  return out;
}

}  // namespace

std::vector<NodeId> programmable_nodes(const ProgrammableSwitches& p, const Fabric& fabric) {
  std::vector<NodeId> out;
  if (p.switches == ProgrammableSwitches::edge) {
    for (LinkId id = 0; id < fabric.links(); ++id)
      if (fabric.device(fabric.from(id)).kind == DeviceKind::endpoint && fabric.device(fabric.to(id)).kind == DeviceKind::network_switch)
        out.push_back(fabric.to(id));
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
