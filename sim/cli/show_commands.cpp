#include "collectives/compression/settings.hpp"
#include "collectives/engines/engines.hpp"
#include "kernels/base/plural.hpp"
#include "models/fabric/analysis/deadlock.hpp"
#include "models/fabric/drawing/drawing.hpp"
#include "models/fabric/drawing/fabric_export.hpp"
#include "models/fabric/drawing/oversubscription.hpp"
#include "models/platform/platform.hpp"
#include "models/server/nccl_topology.hpp"
#include "models/server/server_fabric.hpp"
#include "models/training/model.hpp"
#include "sim/cases/describe.hpp"
#include "sim/cases/plan.hpp"
#include "sim/cli/commands.hpp"
#include "sim/files/shipped.hpp"
#include "sim/results/writers.hpp"
#include "sim/scenario/algorithms.hpp"
#include "sim/scenario/device_form.hpp"
#include "sim/scenario/networks.hpp"
#include "sim/scenario/profiles.hpp"
#include "sim/scenario/scenario_fields.hpp"

#include <algorithm>
#include <ostream>
#include <sstream>
#include <variant>

namespace weft {
namespace {

bool is_platform(const FabricSpec& spec) { return std::holds_alternative<SimgridFabric>(spec); }

// A platform does not say what its links join.
std::string links_and_switches(const Fabric& fabric, const FabricSpec& spec) {
  if (is_platform(spec)) return counted(fabric.links(), "link");
  int between_switches = 0, switches = 0;
  for (LinkId id = 0; id < fabric.links(); ++id) between_switches += fabric.between_switches(id) ? 1 : 0;
  for (NodeId id = 0; id < fabric.devices(); ++id) switches += fabric.device(id).kind == DeviceKind::network_switch ? 1 : 0;
  return fmt::format("{}, {} of which {} between switches", counted(switches, "switch", "switches"),
                     counted(fabric.links(), "directed link"), between_switches);
}

void summarize(const Case& one, std::ostream& out) {
  const FabricChoice& choice = one.scenario.fabric;
  const Server& server = one.scenario.server;
  const auto fabric = build(choice.spec, server);
  out << fmt::format("{}: {}\n", one.scenario.name, describe(choice.spec, server));
  if (const std::string links = describe_links(choice.spec); !links.empty()) out << fmt::format("  {}\n", links);
  out << fmt::format("  {}, {}, {}\n", counted(fabric->endpoints(), "endpoint"), links_and_switches(*fabric, choice.spec),
                     counted(fabric->priorities(), "priority", "priorities"));
  if (const auto worst = most_oversubscribed(*fabric))
    out << fmt::format("  oversubscription {:.4g}:1 ({}: {} to NICs, {} to other switches)\n", worst->ratio, worst->name,
                       counted(worst->down, "cable"), worst->up);
  if (!server.is_sub_node()) out << fmt::format("  {} a server\n", counted(server.nic_count(), "NIC"));
  for (const auto& [what, source] : server.sources) out << fmt::format("  {}: {}\n", what, source);
  if (fabric->endpoints() > 1)
    out << fmt::format("  {} from the first endpoint to the last; ecmp {}\n",
                       counted(fabric->path_count(0, fabric->endpoints() - 1), "path"), describe(choice.ecmp));
}

void heading(const char* text, std::ostream& out) { out << text << ":\n"; }

template <class E>
void names(const char* title, std::ostream& out) {
  heading(title, out);
  out << "  " << fmt::format("{}\n", fmt::join(Form<E>::names(), " "));
}

// The first sentence, where that is short.
std::string in_one_line(const std::string& text) {
  constexpr std::size_t most = 110;
  std::string out = text.substr(0, text.find(". "));
  if (out.ends_with('.')) out.pop_back();
  if (out.size() <= most) return out;
  const std::size_t end = out.find_last_of(' ', most - 4);
  return out.substr(0, end == out.npos ? most - 4 : end) + " ...";
}

// Of the cable at the first endpoint's port; none: it has none.
BitsPerSecond cable_rate(const Fabric& fabric) {
  for (LinkId id = 0; id < fabric.links(); ++id)
    if (fabric.from(id) == fabric.port_of(0) && !fabric.link(id).in_server) return fabric.link(id).bandwidth;
  return {};
}

// Which paths pairs take is the fabric's too: a graph with other choices gives other times.
Json graph_with_ecmp(const Fabric& fabric, const Ecmp& ecmp) {
  Json out = graph_json(fabric);
  if (ecmp != Ecmp{}) out["ecmp"] = Form<Ecmp>::write(ecmp);
  return out;
}

void write_graph(const Scenario& s, const Fabric& fabric, std::ostream& out, std::ostream& err) {
  if (!s.server.is_sub_node())
    err << "weft topo: the graph has the devices and links of servers, but not which NIC a GPU uses, how GPUs of a server reach one "
           "another, or what caps the rate of a flow: read back as a fabric, messages may take other paths and other times\n";
  if (const auto* tree = std::get_if<FatTree>(&s.fabric.spec); tree && tree->three_tiers())
    err << "weft topo: the paths of the graph are those of the Fat-Tree in another order: read back as a fabric, ecmp chooses others\n";
  if (has_rules_for_paths(s.fabric.spec))
    err << fmt::format(
        "weft topo: the graph has the links of the {}, but not its rules for paths: read back as a fabric, messages take any "
        "of the shortest paths\n",
        type_name(s.fabric.spec));
  if (fabric.priorities() > 1 && s.network == NetworkKind::packet)
    err << fmt::format("weft topo: a graph has one priority, the {} has {}: read back as a fabric it may deadlock where switches pause\n",
                       type_name(s.fabric.spec), fabric.priorities());
  out << graph_with_ecmp(fabric, s.fabric.ecmp).dump(2) << "\n";
}

void write_platform(const Scenario& s, const Fabric& fabric, std::ostream& out, std::ostream& err) {
  std::ostringstream text;
  to_simgrid_xml(fabric, s.fabric.ecmp, text);
  if (text.view().size() > max_platform_bytes)
    err << fmt::format("weft topo: the platform has {} bytes, and Weft reads at most {}\n", text.view().size(), max_platform_bytes);
  if (s.fabric.ecmp.policy == EcmpPolicy::least_loaded)
    err << "weft topo: ecmp least_loaded chooses paths as messages need them: the platform has what it chooses for all pairs in the "
           "order of their numbers, and a run may take other routes\n";
  out << text.view();
}

// Devices and links between them would be made up.
void refuse_platform(const std::string& file, const FabricSpec& spec) {
  if (is_platform(spec))
    throw InputError(fmt::format(
        "{}: /fabric: a SimGrid platform says which links messages pass, and not what they join: it cannot be drawn or written", file));
}

}  // namespace

int topo_command(const ScenarioArguments& arguments, TopologyFormat format, std::ostream& out, std::ostream& err) {
  std::vector<Case> cases = load_all(arguments);
  if (format != TopologyFormat::summary) {
    const Scenario& first = cases.front().scenario;
    const auto is_on_it = [&](const Case& c) { return c.scenario.fabric == first.fabric && c.scenario.server == first.server; };
    if (!std::ranges::all_of(cases, is_on_it))
      throw InputError(fmt::format(
          "{}: its {} cases differ in fabric or server, and one can be written; write --set /sweep={{}} and the values of one case",
          arguments.files.front(), cases.size()));
    cases.erase(cases.begin() + 1, cases.end());
  }
  for (const Case& one : cases) {
    if (format == TopologyFormat::summary) {
      summarize(one, out);
      continue;
    }
    if (format != TopologyFormat::nccl) refuse_platform(arguments.files.front(), one.scenario.fabric.spec);
    const auto fabric = build(one.scenario.fabric.spec, one.scenario.server);
    if (format == TopologyFormat::dot) to_dot(drawing_of(*fabric), out);
    if (format == TopologyFormat::svg) to_svg(drawing_of(*fabric), out);
    if (format == TopologyFormat::json) write_graph(one.scenario, *fabric, out, err);
    if (format == TopologyFormat::nccl) out << to_nccl_topology(one.scenario.server, cable_rate(*fabric));
    if (format == TopologyFormat::simgrid) write_platform(one.scenario, *fabric, out, err);
  }
  return exit_ok;
}

int show_command(const ScenarioArguments& arguments, std::ostream& out) {
  out << to_json(load_all(arguments)).dump(2) << "\n";
  return exit_ok;
}

int schema_command(bool of_results, std::ostream& out) {
  out << (of_results ? results_schema() : scenario_schema()).dump(2) << "\n";
  return exit_ok;
}

int list_command(std::ostream& out) {
  for (const auto& [collective, name] : Names<Collective>::values()) {
    heading(fmt::format("{} algorithms", name).c_str(), out);
    if (collective == Collective::allreduce)
      for (const InNetworkProtocol& a : in_network_protocols()) out << fmt::format("  {:<22} {} ({})\n", a.name, a.description, a.source);
    for (const Algorithm& algorithm : algorithms())
      if (algorithm.collective == collective)
        out << fmt::format("  {:<22} {} ({})\n", algorithm.name, algorithm.description, algorithm.source);
  }
  heading("algorithms from files, for every collective but barrier", out);
  const Algorithm& imported = imported_algorithms().front();
  out << fmt::format("  {:<22} {} ({})\n", imported.name, imported.description, imported.source);
  heading("fabrics", out);
  std::string last;
  for (const auto& alternative : Form<FabricChoice>::form().alternatives) {
    out << fmt::format("  {:<22} {}\n", alternative.name == last ? "" : alternative.name, alternative.doc);
    last = alternative.name;
  }
  heading("servers", out);
  for (const std::string& name : server_presets()) out << fmt::format("  {:<22} {}\n", name, description_of(name));
  heading("models to train", out);
  for (const KnownModel& model : known_models()) out << fmt::format("  {:<22} {}\n", model.name, model.description);
  heading("gradient engines", out);
  for (const EngineEntry& engine : engines()) out << fmt::format("  {:<22} {}\n", engine.name, engine.description);
  heading("compressions of gradients", out);
  out << fmt::format("  {}\n", fmt::join(compression_names(), " "));
  heading("devices that train", out);
  out << fmt::format("  {}\n", fmt::join(DeviceForm::names("."), " "));
  heading("networks of this build", out);
  for (const NetworkTraits& traits : networks())
    if (traits.in_this_build) out << fmt::format("  {:<24} {}\n", traits.name, traits.description);
  out << "\n";
  heading("hardware profiles", out);
  const ProfileLibrary profiles = ProfileLibrary::beside("");
  for (const std::string& name : profiles.names()) {
    const std::string description = in_one_line(profiles.description(name));
    out << (description.empty() ? fmt::format("  {}\n", name) : fmt::format("  {:<22} {}\n", name, description));
  }
  if (const std::string missing = missing_shipped("scenarios"); !missing.empty()) out << "  " << missing << "\n";
  names<DType>("dtypes", out);
  names<ReduceOp>("ops", out);
  return exit_ok;
}

}  // namespace weft
