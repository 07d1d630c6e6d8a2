#include "kernels/files/files.hpp"
#include "models/fabric/validation.hpp"
#include "sim/scenario/scenario_fields.hpp"

namespace weft {
namespace {

template <class Spec>
Spec& spec_in(FabricChoice& choice) {
  return std::get<Spec>(choice.spec);
}

struct EdgeSwitches {
  static const std::vector<std::string>& value;
  static constexpr const char* word = "edge";
};
const std::vector<std::string>& EdgeSwitches::value = ProgrammableSwitches::edge;

struct AsTheyCome {
  static constexpr std::int64_t value = 0;
  static constexpr const char* word = "as_they_come";
};

struct AnyPayload {
  static constexpr Bytes value{0};
  static constexpr const char* word = "any";
};

constexpr const char* link_example = R"({"bandwidth": "100Gbps", "latency": "500ns"})";

// The links of a spec besides host_link, by name.
template <class Spec>
std::vector<std::pair<std::string, LinkSpec Spec::*>> switch_links() {
  std::vector<std::pair<std::string, LinkSpec Spec::*>> out;
  if constexpr (requires(Spec spec) { spec.fabric_link; }) out.emplace_back("fabric_link", &Spec::fabric_link);
  if constexpr (requires(Spec spec) { spec.global_link; }) out.emplace_back("global_link", &Spec::global_link);
  return out;
}

// What stands there is the field's, which says which of the links it is.
std::function<Json()> without_description(std::function<Json()> schema) {
  return [schema = std::move(schema)] {
    Json out = schema();
    out.erase("description");
    return out;
  };
}

// "link" stands for all of them, each of which may still be given on its own.
template <class Spec>
Field<Spec> every_link() {
  Field<Spec> field = optional("link", &Spec::host_link, "Every cable; the keys for one kind of cable override it.");
  field.schema = without_description(std::move(field.schema));
  field.reads([read_host_link = field.read](const Json& json, const JsonPath& where, Input& in, Spec& out) {
    const bool is_good = read_host_link(json, where, in, &out);
    // What one kind of cable leaves out is in a bad link too: it is not said to be missing.
    if (!is_good && out.host_link.bandwidth.count == 0) out.host_link.bandwidth = {1};
    for (const auto& [name, link] : switch_links<Spec>()) out.*link = out.host_link;
    return is_good;
  });
  field.writes([](const Spec&) { return Json::value_t::discarded; });
  return field;
}

// The link of one kind of cable: "link", which is read before it, has what it leaves out.
template <class Spec>
Field<Spec> one_link(std::string_view name, LinkSpec Spec::*link, std::string_view doc) {
  Field<Spec> field = optional(name, link, doc);
  field.default_is_elsewhere = true;
  field.schema = [schema = without_description(std::move(field.schema))] {
    Json out = schema();
    out.erase("required");
    return out;
  };
  field.reads([read = field.read, link](const Json& json, const JsonPath& where, Input& in, Spec& out) {
    if (!json.is_object() || json.empty() || (out.*link).bandwidth.count == 0) return read(json, where, in, &out);
    Json whole = Form<LinkSpec>::write(out.*link);
    whole.update(json);
    return read(whole, where, in, &out);
  });
  return field;
}

template <class Spec>
bool names_links(const Json& json, const JsonPath& where, Input& in) {
  if (json.contains("link")) return true;
  std::string missing = json.contains("host_link") ? "" : "host_link", all = "host_link";
  for (const auto& [name, link] : switch_links<Spec>()) {
    if (missing.empty() && !json.contains(name)) missing = name;
    all += " and " + name;
  }
  if (missing.empty()) return true;
  if (missing != "host_link") return in.problem(where.in(missing), fmt::format("missing: write {}", link_example));
  return in.problem(where.in("link"), fmt::format("missing: write {}, or give {}", link_example, all));
}

template <class Spec>
std::function<bool(const Json&, const JsonPath&, Input&)> links_rule() {
  if constexpr (requires(Spec spec) { spec.host_link; }) return names_links<Spec>;
  return nullptr;
}

// The platform of a file beside the scenario.
Field<SimgridFabric> platform_file() {
  return {{.name = "file",
           .doc = "A SimGrid platform (XML), relative to the scenario.",
           .is_required = true,
           .schema = Form<std::string>::schema,
           .wanted = "a file name"},
          [](const Json& json, const JsonPath& where, Input& in, SimgridFabric& out) {
            if (!Form<std::string>::read(json, where, in, out.file)) return false;
            const auto path = in.folder / out.file;
            in.files.insert(path);
            try {
              out.platform = read_platform(read_file(path, max_platform_bytes));
              return true;
            } catch (const InputError& error) {
              for (const std::string& problem : error.problems())
                in.problem(where, problem.starts_with("line ") ? fmt::format("{}: {}", path.string(), problem) : problem);
              return false;
            }
          },
          [](const SimgridFabric& spec) { return spec.file; }};
}

template <class Spec>
Alternative<FabricChoice> shape(std::string doc, Fields<Spec> fields, bool (*selected)(const Spec&) = nullptr) {
  constexpr bool has_links = requires(Spec spec) { spec.host_link; };
  if constexpr (has_links) {
    fields.push_back(every_link<Spec>());
    fields.push_back(one_link("host_link", &Spec::host_link, "The cable of each endpoint; \"link\" has what is not given."));
    for (const auto& [name, link] : switch_links<Spec>())
      fields.push_back(
          one_link(name, link,
                   fmt::format("The cables between {}; \"link\" has what is not given.", name == "global_link" ? "groups" : "switches")));
  }
  return {.name = std::string(Spec::type),
          .doc = std::move(doc),
          .fields = lifted<FabricChoice, Spec>(fields, spec_in<Spec>),
          .select = [](FabricChoice& choice) { choice.spec = Spec{}; },
          .selected =
              [selected](const FabricChoice& choice) {
                const Spec* spec = std::get_if<Spec>(&choice.spec);
                return spec && (!selected || selected(*spec));
              },
          .also = links_rule<Spec>()};
}

}  // namespace

const std::vector<std::pair<EcmpPolicy, std::string>>& Names<EcmpPolicy>::values() {
  static const std::vector<std::pair<EcmpPolicy, std::string>> all = {
      {EcmpPolicy::hash, "hash"}, {EcmpPolicy::least_loaded, "least_loaded"}, {EcmpPolicy::d_mod_k, "d_mod_k"}};
  return all;
}

Declaration<LinkSpec> Declared<LinkSpec>::declaration() {
  return {.doc = "Bandwidth and latency, the same in both directions.",
          .fields = {required("bandwidth", &LinkSpec::bandwidth, "Bandwidth of each direction of the link.", at_least(BitsPerSecond{1})),
                     required("latency", &LinkSpec::latency, "The time from one end of the link to the other, with that of the switch.")}};
}

Declaration<GraphLink> Declared<GraphLink>::declaration() {
  return {.doc = "A link between two named devices.",
          .fields = {required("from", &GraphLink::from, "The name of a node or of a switch."),
                     required("to", &GraphLink::to, "The name of a node or of a switch."),
                     required("bandwidth", &GraphLink::bandwidth, "Bandwidth of each direction of the link.", at_least(BitsPerSecond{1})),
                     required("latency", &GraphLink::latency, "The time from one end of the link to the other, with that of the switch."),
                     optional("bidirectional", &GraphLink::bidirectional,
                              "Whether the link goes in both directions; false means only from `from` to `to`.")}};
}

Declaration<Ecmp> Declared<Ecmp>::declaration() {
  return {.doc = "Which of several equal-cost paths a pair of endpoints uses.",
          .fields = {optional("policy", &Ecmp::policy, "How the path of a flow is chosen among several of equal cost."),
                     optional("seed", &Ecmp::seed, "The seed of the hash; the scenario's seed when not given.")}};
}

Declaration<ProgrammableSwitches> Declared<ProgrammableSwitches>::declaration() {
  using P = ProgrammableSwitches;
  return {.doc = "The programmable switches, in which algorithms such as atp aggregate gradients.",
          .fields = {
              optional_as<OrWord<std::vector<std::string>, EdgeSwitches>>(
                  "switches", &P::switches,
                  "The names of the programmable switches; \"edge\" stands for every switch with an endpoint, [] for none."),
              optional("aggregators", &P::aggregators,
                       "The aggregators of each programmable switch: the packets of all jobs that it can hold at a time.", at_least(1)),
              optional("mark_above", &P::mark_above,
                       "The queue length from which programmable switches mark every packet, in addition to what \"/packet/ecn\" marks; "
                       "with 0B they mark nothing in addition. The authors of ATP mark from 1000 cells of 80 bytes on."),
              optional_as<OrWord<Bytes, AnyPayload>>("payload", &P::payload,
                                                     "The largest payload of a packet that a programmable switch can aggregate."),
              optional_as<OrWord<std::int64_t, AsTheyCome>>("packets_per_second", &P::packets_per_second,
                                                            "The most packets that each programmable switch handles in a second.",
                                                            at_least<std::int64_t>(1)),
              optional("delay", &P::delay, "The time that each packet takes in the switch's program, in addition to the time on its links.",
                       at_least(SimTime{}))}};
}

Declaration<FabricChoice> Declared<FabricChoice>::declaration() {
  return {
      .doc = "The fabric: the switches and links that connect the endpoints.",
      .fields =
          {optional("ecmp", &FabricChoice::ecmp, "Which of several equal-cost paths a pair uses."),
           optional("programmable", &FabricChoice::programmable, "Switches that can add what passes."),
           optional(
               "sharp", &FabricChoice::sharp,
               "Whether the switches aggregate for NCCL, on all levels between servers, as NVIDIA's with SHARP do; false when not given. "
               "NCCL's algorithms collnet_direct and collnet_chain need it, and nvls between servers.")},
      .tag = "type",
      .alternatives = {
          shape<BiGraph>(
              "Two equal parts of switches, completely connected with each other; nodes on every switch.",
              {required("switches", &BiGraph::switches, "The number of switches in both parts together.", at_least(2)),
               required("nodes_per_switch", &BiGraph::nodes_per_switch, "Nodes on each switch, at most switches / 2.", at_least(1)),
               optional("priorities", &BiGraph::priorities,
                        "Priorities (virtual channels) for lossless traffic: 2, one for each direction, avoid deadlock; with 1 routing can "
                        "deadlock.",
                        between(1, 2))}),
          shape<FatTree>(
              "Leaf-spine: nodes on the leaves, every leaf connected to every spine.",
              {required("leaves", &FatTree::leaves, "The number of leaf switches, which the nodes are attached to.", at_least(1)),
               required("nodes_per_leaf", &FatTree::nodes_per_leaf, "The number of nodes attached to each leaf switch.", at_least(1)),
               required("spines", &FatTree::spines, "The number of spine switches, each connected to every leaf.", at_least(1))},
              [](const FatTree& tree) { return !tree.three_tiers(); }),
          shape<FatTree>("Three tiers of switches with k ports each: k^3 / 4 nodes.",
                         {required("k", &FatTree::k, "The number of ports of each switch, which must be even.", at_least(2))},
                         [](const FatTree& tree) { return tree.three_tiers(); }),
          shape<Star>("A single switch that all nodes are attached to.",
                      {required("nodes", &Star::nodes, "The number of nodes attached to the switch.", between(1, int{max_endpoints}))}),
          shape<Torus>(
              "A grid of switches that closes around in every dimension.",
              {required("dims", &Torus::dims, "The number of switches along each dimension."),
               optional("nodes_per_switch", &Torus::nodes_per_switch, "The number of nodes attached to each switch.", at_least(1)),
               optional("priorities", &Torus::priorities,
                        "Priorities (virtual channels) for lossless traffic: 2 avoid deadlock by datelines; with 1 routing can deadlock.",
                        between(1, 2))}),
          shape<Dragonfly>(
              "Groups of completely connected routers, every pair of groups joined by global cables.",
              {required("groups", &Dragonfly::groups, "The number of groups of routers.", at_least(1)),
               required("routers_per_group", &Dragonfly::routers_per_group, "The number of routers in each group.", at_least(1)),
               required("nodes_per_router", &Dragonfly::nodes_per_router, "The number of nodes attached to each router.", at_least(1)),
               required("global_links_per_router", &Dragonfly::global_links_per_router,
                        "The number of cables from each router to other groups.", at_least(0)),
               optional("priorities", &Dragonfly::priorities,
                        "Priorities (virtual channels) for lossless traffic: 2 avoid deadlock; with 1 routing can deadlock.",
                        between(1, 2))}),
          shape<GraphFabric>("Any other fabric, given link by link.",
                             {required("nodes", &GraphFabric::nodes, "The names of the endpoints, in the order of linear placement."),
                              optional("switches", &GraphFabric::switches, "The names of the switches, which links refer to."),
                              required("links", &GraphFabric::links, "The links between nodes and switches.")}),
          shape<SimgridFabric>("A platform of SimGrid: its hosts are the endpoints, and messages take its routes.", {platform_file()}),
      }};
}

}  // namespace weft
