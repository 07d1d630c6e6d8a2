#include "sim/scenario/server_fields.hpp"

#include "kernels/files/files.hpp"
#include "models/server/nccl_topology.hpp"
#include "models/server/server_paths.hpp"
#include "sim/scenario/scenario_fields.hpp"

#include <algorithm>

namespace weft {
namespace {

// What a preset or a topology file says already.
constexpr const char* structure[] = {"sockets", "pcie_switches", "nvswitches", "gpus", "nics", "memory"};

struct NoContention {
  static constexpr PeerContention value = {};
  static constexpr const char* word = "none";
};
struct ContentionForm : OrWord<PeerContention, NoContention> {
  static bool read(const Json& json, const JsonPath& where, Input& in, PeerContention& out) {
    if (json.is_object() && json.empty())
      return in.problem(where,
                        "says nothing: give \"nic_rate\", \"two_way_rate\", \"duplex_rate\" or \"nic_duplex_rate\", or write \"none\"");
    return OrWord::read(json, where, in, out);
  }
};

// What a scenario says otherwise of a link that the server has already.
bool change_link(const Json& json, const JsonPath& where, Input& in, Server& out) {
  ServerLink said;
  if (!Form<ServerLink>::read(json, where, in, said)) return false;
  const auto same_ends = [&](const ServerLink& link) {
    return (link.from == said.from && link.to == said.to) || (link.from == said.to && link.to == said.from);
  };
  const auto link = std::ranges::find_if(out.links, same_ends);
  if (link == out.links.end())
    return in.problem(where,
                      fmt::format("must name the ends of a link that the server has, such as \"{}\" and \"{}\", got \"{}\" and \"{}\"",
                                  out.links.front().from, out.links.front().to, said.from, said.to));
  if (json.contains("bandwidth") && !json.contains("pcie")) link->pcie.reset();
  if (json.contains("pcie") && !json.contains("bandwidth")) link->bandwidth = {};
  const std::string from = link->from, to = link->to;
  const bool good = Form<ServerLink>::read(json, where, in, *link);
  link->from = from, link->to = to;
  return good;
}

// After those of a preset or a topology file: what differs of them.
Field<Server> links_field() {
  Field<Server> field = optional("links", &Server::links,
                                 "The links between the devices. Beside a preset or a topology file: the links that differ from it, each "
                                 "identified by its two ends, with the keys that differ.");
  field.reads([read = field.read](const Json& json, const JsonPath& where, Input& in, Server& out) {
    if (out.links.empty()) return read(json, where, in, &out);
    if (!json.is_array()) return in.unwanted(where, "a list", json);
    bool good = true;
    for (std::size_t i = 0; i < json.size(); ++i) good &= change_link(json[i], where.at(i), in, out);
    return good;
  });
  return field;
}

struct AllGpus {
  static const std::vector<int> value;
  static constexpr const char* word = "all";
};
const std::vector<int> AllGpus::value = {};

Field<Server> topology_field() {
  return {{.name = "nccl_topology",
           .doc = "An NCCL topology file (NCCL_TOPO_DUMP_FILE), relative to the scenario.",
           .schema = Form<std::string>::schema,
           .wanted = "a file name"},
          [](const Json& json, const JsonPath& where, Input& in, Server& out) {
            std::string file;
            if (!Form<std::string>::read(json, where, in, file)) return false;
            const auto path = in.folder / file;
            in.files.insert(path);
            try {
              out = read_nccl_topology(read_file(path, max_topology_bytes));
              return true;
            } catch (const InputError& error) {
              for (const std::string& problem : error.problems())
                in.problem(where, problem.starts_with(path.string()) ? problem : path.string() + ": " + problem);
              return false;
            }
          },
          [](const Server&) { return Json::value_t::discarded; }};
}

Field<Server> preset_field() {
  return {{.name = "preset",
           .doc = "The preset server, parts of which the other keys override.",
           .schema =
               [] {
                 return Json{{"enum", server_presets()}};
               },
           .wanted = "one of " + quoted_list(server_presets())},
          [](const Json& json, const JsonPath& where, Input& in, Server& out) {
            std::string name;
            if (!Form<std::string>::read(json, where, in, name)) return false;
            const auto& known = server_presets();
            if (std::find(known.begin(), known.end(), name) == known.end()) return in.problem(where, unknown_name("server", name, known));
            out = server_preset(name);
            return true;
          },
          [](const Server& server) { return server.preset.empty() ? Json(Json::value_t::discarded) : Json(server.preset); }};
}

// After the preset, which it makes anew with so many endpoints.
Field<Server> endpoints_field(const char* key, int Server::*count, std::string_view preset, Server (*make)(int), std::string about) {
  Field<Server> field = optional(key, count, std::move(about), between(1, max_gpus_per_server));
  field.reads([=, read = field.read](const Json& json, const JsonPath& where, Input& in, Server& out) {
    if (out.preset != preset) return in.problem(where, fmt::format("only the preset \"{}\" takes a number of {}", preset, key));
    if (!read(json, where, in, &out)) return false;
    out = make(out.*count);
    return true;
  });
  return written_if(std::move(field), [preset](const Server& server) { return server.preset == preset; });
}

Field<Server> cores_field() {
  return endpoints_field(
      "cores", &Server::cores, name_of_cpu_host, [](int cores) { return cpu_host({.cores = cores}); },
      "Of the preset cpu_host: the number of its cores, half of them on each socket; each is an endpoint.");
}

Field<Server> ranks_field() {
  return endpoints_field("ranks", &Server::ranks, name_of_shared_gpu, shared_gpu,
                         "Of the preset shared_gpu: how many ranks may share the GPU; each is an endpoint.");
}

// After the cores.
Field<Server> cores_per_l3_field() {
  Field<Server> field =
      optional("cores_per_l3", &Server::cores_per_l3,
               "Of the preset cpu_host: how many cores share a last level of cache (an L3), as 4, 8 or 16 of an AMD EPYC do; "
               "all of a socket when not given.",
               between(1, max_gpus_per_server));
  field.reads([read = field.read](const Json& json, const JsonPath& where, Input& in, Server& out) {
    if (out.cores == 0) return in.problem(where, fmt::format("only the preset \"{}\" takes a number of cores_per_l3", name_of_cpu_host));
    CpuHost host = as_cpu_host(out);
    if (!read(json, where, in, &out)) return false;
    host.cores_per_l3 = out.cores_per_l3;
    out = cpu_host(host);
    return true;
  });
  return written_if(std::move(field), [](const Server& server) { return server.cores_per_l3 > 0; });
}

// After the cores: the preset with as many NICs as a number says. Every other server lists their names.
Field<Server> nics_field() {
  static const RangedMember<Form<int>, int> number(between(1, max_nics_of_cpu_host));
  Field<Server> field = optional(
      "nics", &Server::nics,
      "The names of the NICs, in the order of the fabric's ports; without NICs it is a single server, on a fabric of one node. Of the "
      "preset cpu_host: the number of its NICs, each on PCIe 4 x16, spread evenly over the sockets; 1 when not given.");
  field.reads([read = field.read](const Json& json, const JsonPath& where, Input& in, Server& out) {
    if (out.cores > 0 && !json.is_array()) {
      int nics = 0;
      if (!number.read(json, where, in, &nics)) return false;
      CpuHost host = as_cpu_host(out);
      host.nics = nics;
      out = cpu_host(host);
      return true;
    }
    if (json.is_number())
      return in.problem(where, fmt::format("only the preset \"{}\" takes a number of NICs, and a description lists their names; got {}",
                                           name_of_cpu_host, shown(json)));
    return read(json, where, in, &out);
  });
  field.schema = [list = field.schema] { return Json{{"oneOf", Json::array({list(), number.schema()})}}; };
  return field;
}

// Whether a key of a server is a number of NICs, or another value where one may stand: those are its field's to judge.
bool is_number_of_nics(const std::string& key, const Json& value, const Json& server) {
  if (key != "nics" || value.is_array()) return false;
  return value.is_number() || (server.contains("preset") && server.at("preset") == std::string(name_of_cpu_host));
}

Server preset_of(const Server& server) {
  return server.cores > 0 ? cpu_host(as_cpu_host(server)) : server.ranks > 0 ? shared_gpu(server.ranks) : server_preset(server.preset);
}

}  // namespace

const std::vector<std::pair<PeerPolicy, std::string>>& Names<PeerPolicy>::values() {
  static const std::vector<std::pair<PeerPolicy, std::string>> all = {{PeerPolicy::pcie_upi, "pcie_upi"},
                                                                      {PeerPolicy::pcie_nic, "pcie_nic"},
                                                                      {PeerPolicy::nic, "nic"},
                                                                      {PeerPolicy::host, "host"},
                                                                      {PeerPolicy::nvlink_relay, "nvlink_relay"}};
  return all;
}
const std::vector<std::pair<Wiring, std::string>>& Names<Wiring>::values() {
  static const std::vector<std::pair<Wiring, std::string>> all = {{Wiring::one_switch, "one_switch"}, {Wiring::rails, "rails"}};
  return all;
}
const std::vector<std::pair<HostProcessor, std::string>>& Names<HostProcessor>::values() {
  static const std::vector<std::pair<HostProcessor, std::string>> all = {
      {HostProcessor::intel, "intel"}, {HostProcessor::amd, "amd"}, {HostProcessor::arm, "arm"}};
  return all;
}
const std::vector<std::pair<Fabric::Copy, std::string>>& Names<Fabric::Copy>::values() {
  static const std::vector<std::pair<Fabric::Copy, std::string>> all = {{Fabric::Copy::to_endpoint, "host_to_gpu"},
                                                                        {Fabric::Copy::to_host, "gpu_to_host"}};
  return all;
}

Declaration<PcieLink> Declared<PcieLink>::declaration() {
  return {.doc = "A PCIe link, whose bandwidth follows from line encoding and packet overhead.",
          .fields = {required("generation", &PcieLink::generation, "The PCIe generation of the link, from 1 to 6.", between(1, 6)),
                     optional("width", &PcieLink::width, "The number of PCIe lanes of the link.", between(1, 16)),
                     optional("max_payload", &PcieLink::max_payload, "The largest payload of a PCIe packet in bytes (Max_Payload_Size).",
                              between(64, 4096))}};
}

Declaration<PeerContention> Declared<PeerContention>::declaration() {
  using C = PeerContention;
  return {.doc =
              "What traffic between devices gets of a link under load in each direction; copies to and from host memory keep the full "
              "bandwidth.",
          .fields = {written_if(optional("nic_rate", &C::nic_rate,
                                         "The bandwidth of all flows between GPUs and NICs together; that of the link when not given.",
                                         at_least(BitsPerSecond{1})),
                                [](const C& c) { return c.nic_rate.count > 0; }),
                     written_if(optional("two_way_rate", &C::two_way_rate,
                                         "While n flows between GPUs cross the link in both directions, they have this bandwidth "
                                         "divided by n in each direction; they keep the full bandwidth when not given.",
                                         at_least(BitsPerSecond{1})),
                                [](const C& c) { return c.two_way_rate.count > 0; }),
                     written_if(optional("duplex_rate", &C::duplex_rate,
                                         "The bandwidth of each direction while flows between GPUs cross the link both ways, or one "
                                         "flow crosses it twice; they keep the full bandwidth when not given.",
                                         at_least(BitsPerSecond{1})),
                                [](const C& c) { return c.duplex_rate.count > 0; }),
                     written_if(optional("nic_duplex_rate", &C::nic_duplex_rate,
                                         "The bandwidth of each direction while flows between GPUs and NICs cross the link both ways; that "
                                         "of the link when not given.",
                                         at_least(BitsPerSecond{1})),
                                [](const C& c) { return c.nic_duplex_rate.count > 0; })}};
}

Declaration<ServerLink> Declared<ServerLink>::declaration() {
  using L = ServerLink;
  return {.doc = "A link inside a server, the same in both directions.",
          .fields = {required("from", &L::from, "The name of a device of the server."),
                     required("to", &L::to, "The name of a device of the server."), optional("pcie", &L::pcie, "Its rate, if it is PCIe."),
                     written_if(optional("bandwidth", &L::bandwidth, "The bandwidth of each direction of a link that is not PCIe.",
                                         at_least(BitsPerSecond{1})),
                                [](const L& link) { return !link.pcie; }),
                     optional("latency", &L::latency, "The propagation time from one device to the other."),
                     written_if(optional_as<ContentionForm>("contention", &L::contention,
                                                            "How the bandwidth for traffic between devices falls under load; \"none\" "
                                                            "when neither the link nor the preset says otherwise, but for a NIC on a "
                                                            "PCIe 4 port of a socket, whose nic_duplex_rate is 154Gbps then."),
                                [](const L& link) { return link.contention != PeerContention{}; })}};
}

Declaration<Server> Declared<Server>::declaration() {
  using S = Server;
  return {
      .doc = "What a node of the fabric is. Its endpoints are GPUs, and each NIC has a cable to the fabric.",
      .fields = {
          preset_field(), cores_field(), cores_per_l3_field(), ranks_field(), topology_field(),
          optional("sockets", &S::sockets, "The names of the CPU sockets, each with its host memory."),
          optional("pcie_switches", &S::pcie_switches, "The names of the PCIe switches in the server."),
          optional("nvswitches", &S::nvswitches, "The names of the NVSwitches in the server."),
          optional("gpus", &S::gpus, "The names of the GPUs, in the order of endpoints."), nics_field(), links_field(),
          optional("memory", &S::memory, "Rate and latency of each socket's host memory."),
          optional(
              "policy", &S::policy,
              "How messages travel between GPUs of one server without NVLink between them: \"pcie_upi\" over PCIe and the links between "
              "sockets, \"pcie_nic\" over PCIe but through the NICs from socket to socket, \"nic\" through the NICs, \"host\" through "
              "the host memory of the sender's socket (no peer access), \"nvlink_relay\" through a GPU that NVLinks join to both."),
          not_empty(optional("nic_of_gpu", &S::nic_of_gpu,
                             "The NIC that each GPU uses. When not given it is the nearest one, and where several are as near, these have "
                             "equally many GPUs, neighbours together.")),
          optional("wiring", &S::wiring,
                   "How NICs are cabled to the fabric: one_switch puts the NICs of a server on neighbouring ports, rails puts each NIC on "
                   "a switch of its own."),
          optional("processor", &S::processor,
                   "Who made the processors, which NCCL asks before it chooses: it expects rings and LL to be slower between AMD hosts."),
          optional("inter_socket_weight", &S::inter_socket_weight,
                   "The weight in max-min sharing of a flow that crosses from socket to socket, where other flows have weight 1."),
          optional("root_complex_payload", &S::root_complex_payload,
                   "The PCIe payload of peer-to-peer packets that a CPU's root complex forwards, in bytes; 0 keeps that of the links.")}};
}

Declaration<HostCopies> Declared<HostCopies>::declaration() {
  using C = HostCopies;
  auto gpus =
      optional_as<OrWord<std::vector<int>, AllGpus>>("gpus", &C::gpus, "The endpoints whose GPUs copy, numbered through all servers.");
  gpus.reads([read = gpus.read](const Json& json, const JsonPath& where, Input& in, C& out) {
    if (json.is_array() && json.empty()) return in.problem(where, "names no GPU: write \"all\" or at least one");
    return read(json, where, in, &out);
  });
  return {.doc = "Copies that each of some GPUs repeats until the collective has ended, at least once.",
          .fields = {gpus, optional("direction", &C::direction, "The direction of the copies: to or from host memory."),
                     required("bytes", &C::bytes, "The number of bytes of each copy, at least 1.", at_least(Bytes{1})),
                     optional("start", &C::start, "The time at which the first copy begins."),
                     optional("period", &C::period,
                              "The time from the start of one copy to the start of the next; with 0s they are back to back.")}};
}

Json ServerForm::schema() {
  Json object = Form<Server>::schema();
  for (auto& property : object["properties"].items()) property.value().erase("default");  // those of the preset
  return {{"oneOf", Json::array({{{"enum", server_presets()},
                                  {"description", "The name of a preset, which is short for an object with only \"preset\"."}},
                                 object})},
          {"x-shorthand", "preset"}};
}

Json ServerForm::write(const Server& server) {
  if (server.is_sub_node()) return server.preset;
  Json out = Form<Server>::write(server);
  if (server.preset.empty()) {
    for (std::size_t i = 0; i < server.links.size(); ++i)
      if (is_nic_on_root_port(server, server.links[i])) out["links"][i]["contention"] = ContentionForm::write(server.links[i].contention);
    return out;
  }
  for (const char* key : structure) out.erase(key);
  out.erase("links");
  if (server.cores > 0 && server.nic_count() > 1) out["nics"] = server.nic_count();
  const std::vector<ServerLink> preset = preset_of(server).links;
  for (std::size_t i = 0; i < preset.size(); ++i) {
    if (server.links[i] == preset[i]) continue;
    Json changed = Form<ServerLink>::write(server.links[i]);
    changed["contention"] = ContentionForm::write(server.links[i].contention);
    out["links"].push_back(std::move(changed));
  }
  return out;
}

bool ServerForm::read(const Json& json, const JsonPath& where, Input& in, Server& out) {
  if (json.is_string()) return preset_field().read(json, where, in, &out);
  if (!json.is_object()) return in.unwanted(where, wanted(), json);
  const bool preset = json.contains("preset"), topology = json.contains("nccl_topology");
  if (!preset && !topology && !json.contains("gpus"))
    return in.problem(where, "says nothing of its devices: give \"preset\", \"nccl_topology\", or a description with \"gpus\"");
  bool good = true;
  if (preset && topology) good = in.problem(where.in("nccl_topology"), "cannot stand beside \"preset\"");
  for (const char* key : structure)
    if ((preset || topology) && json.contains(key) && !is_number_of_nics(key, json[key], json))
      good =
          in.problem(where.in(key), fmt::format("cannot stand beside \"{}\", which has its devices", preset ? "preset" : "nccl_topology"));
  out = Server{};
  if (!preset && !topology) out.preset.clear();
  good &= Form<Server>::read(json, where, in, out);
  if (good && !preset && !topology)
    for (std::size_t i = 0; i < out.links.size(); ++i)
      if (!json["links"][i].contains("contention") && is_nic_on_root_port(out, out.links[i]))
        out.links[i].contention.nic_duplex_rate = nic_duplex_rate_of_root_port;
  if (!preset && !topology && json.contains("gpus") && !json.contains("nics")) give_no_nic(out);
  if (good && out.is_sub_node() && !preset)
    good = in.problem(topology ? where.in("nccl_topology") : where.in("gpus"),
                      "has no GPU, and endpoints are GPUs; a node that is an endpoint by itself is the server \"sub_node\"");
  if (good && out.is_sub_node() && preset)
    for (const auto& item : json.items())
      if (item.key() != "preset") good = in.problem(where.in(item.key()), "means nothing for a sub_node, which has no devices inside");
  return good;
}

}  // namespace weft
