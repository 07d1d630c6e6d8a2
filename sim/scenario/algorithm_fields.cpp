// An algorithm by its name: the settings of each, and those of the hosts of in-network aggregation.
#include "sim/scenario/algorithms.hpp"
#include "sim/scenario/scenario_fields.hpp"

namespace weft {
namespace {

// 0 is not given.
Field<AlgorithmSettings> group_field(std::string doc) {
  auto field = optional("group", &AlgorithmSettings::group, std::move(doc), at_least(1));
  field.writes([](const AlgorithmSettings& s) { return s.group > 0 ? Json(s.group) : Json(Json::value_t::discarded); });
  return field;
}

// 0 is not given.
std::function<Json(const AlgorithmSettings&)> not_zero(int AlgorithmSettings::*member) {
  return [member](const AlgorithmSettings& s) { return s.*member > 0 ? Json(s.*member) : Json(Json::value_t::discarded); };
}

Fields<AtpSettings> atp_fields() {
  using C = AtpSettings;
  auto servers = optional("servers", &C::servers,
                          "The number of parameter servers, each for an equal share of the values. When not given: one, where the fabric "
                          "has an endpoint without a rank, else as many as ranks, at most 8, among them.",
                          at_least(1));
  servers.writes([](const C& c) { return c.servers > 0 ? Json(c.servers) : Json(Json::value_t::discarded); });
  auto aggregators = optional("aggregators", &C::aggregators,
                              "Of each programmable switch, for all jobs; as the fabric says when not given.", at_least(1));
  aggregators.writes([](const C& c) { return c.aggregators > 0 ? Json(c.aggregators) : Json(Json::value_t::discarded); });
  auto largest_window = optional("largest_window", &C::largest_window,
                                 "The largest window of each worker with each server, in packets. When not given, the windows with all "
                                 "servers together are twice what fits into a round trip.",
                                 at_least(1));
  largest_window.writes([](const C& c) { return c.largest_window > 0 ? Json(c.largest_window) : Json(Json::value_t::discarded); });
  auto server_nodes = optional("server_nodes", &C::server_nodes, "Instead of \"servers\": the endpoint of each parameter server.");
  server_nodes = not_empty(std::move(server_nodes));
  server_nodes.writes([](const C& c) { return c.server_nodes.empty() ? Json(Json::value_t::discarded) : Json(c.server_nodes); });
  return {servers,
          server_nodes,
          aggregators,
          optional("split", &C::split,
                   "Whether aggregators are split evenly between the jobs in advance, instead of shared first come, first served."),
          optional("payload", &C::payload, "The payload of a packet in bytes, at 4 bytes for each value."),
          optional("packet", &C::packet, "The bytes of a packet on the wire, with its payload."),
          optional("initial_window", &C::initial_window, "The initial window of each worker with each server, in packets.", at_least(1)),
          largest_window,
          optional("mtu", &C::mtu, "The segment size in bytes by which windows grow."),
          optional("congestion_control", &C::congestion_control,
                   "Whether windows grow from the initial one and are halved by marks and losses; with false they are the largest from the "
                   "beginning."),
          optional("forwarded", &C::forwarded,
                   "The share of packets, 0 to 1, that switches forward without aggregating them (SetForceForward in the authors' code)."),
          optional("framing", &C::framing, "The framing of each packet on a link in addition: preamble, gap and FCS of Ethernet are 24B."),
          optional("host", &C::host, "What a packet costs a worker or parameter server."),
          optional("timeout", &C::timeout,
                   "The largest retransmission timeout; it is shorter where round trips are known. Where it is 200us, twice the round trip "
                   "if that is longer.")};
}

Fields<SwitchmlSettings> switchml_fields() {
  using C = SwitchmlSettings;
  auto slots = optional("slots", &C::slots,
                        "The number of slots in the switch's pool, which jobs that it adds up for share evenly; each takes the place of "
                        "two aggregators. When not given: 512, or as many as the fabric's aggregators are enough for.",
                        at_least(1));
  slots.writes([](const C& c) { return c.slots > 0 ? Json(c.slots) : Json(Json::value_t::discarded); });
  return {slots,
          optional("payload", &C::payload, "The payload of a packet in bytes, at 4 bytes for each value."),
          optional("packet", &C::packet, "The bytes of a packet on the wire, with its payload."),
          optional("framing", &C::framing, "The framing of each packet on a link in addition: preamble, gap and FCS of Ethernet are 24B."),
          optional("host", &C::host, "What a packet costs a worker."),
          optional("timeout", &C::timeout,
                   "The retransmission timeout of a packet, doubled from the fourth time in a row on, up to 64 times as long. When not "
                   "given: 1ms, or twice what "
                   "all slots' packets take on the slowest link or through the switch if that is longer.")};
}

}  // namespace

Declaration<HostCost> Declared<HostCost>::declaration() {
  using H = HostCost;
  return {
      .doc = "What a packet costs the host that sends or receives it; a host processes one packet at a time.",
      .fields = {
          optional("per_packet", &H::per_packet, "The time that the host needs for each packet."),
          optional("bandwidth", &H::bandwidth, "The rate at which the host processes a packet's bytes; 0bps means that they take no time."),
          optional("jitter", &H::jitter,
                   "The largest random addition to the time of a packet, uniformly distributed from 0, by the scenario's seed.")}};
}

// A schedule in a file beside the scenario.
struct ScheduleFileForm {
  static std::string wanted() { return "the name of a file: MSCCL XML or MSCCL++ JSON"; }
  static Json schema() { return {{"type", "string"}}; }
  static Json write(const ImportedSchedule& imported) { return imported.file; }
  static bool read(const Json& json, const JsonPath& where, Input& in, ImportedSchedule& out) {
    std::string file;
    if (!Form<std::string>::read(json, where, in, file)) return false;
    in.files.insert(in.folder / file);
    try {
      out = import_schedule((in.folder / file).string(), file);
      return true;
    } catch (const InputError& error) {
      for (const std::string& problem : error.problems()) in.problem(where, problem);
      return false;
    }
  }
};

Declaration<AlgorithmChoice> Declared<AlgorithmChoice>::declaration() {
  using A = AlgorithmChoice;
  using Settings = AlgorithmSettings;
  const auto settings_of = +[](A& choice) -> Settings& { return choice.settings; };
  Declaration<A> out{.doc = "An algorithm by its name, with its settings beside it.", .tag = "name", .shorthand = true};
  for (const std::string& name : algorithm_names()) {
    if (is_in_network(name)) continue;
    Fields<Settings> fields;
    std::string doc;
    bool takes_group = false, takes_servers = false, takes_inner = false, takes_library = false, staggers = false, can_be_cut = false;
    for (const Algorithm& algorithm : algorithms()) {  // for one collective or another
      if (algorithm.name != name) continue;
      takes_group |= algorithm.takes_group;
      takes_servers |= algorithm.takes_servers;
      takes_inner |= algorithm.takes_inner;
      takes_library |= algorithm.takes_library;
      staggers |= algorithm.staggers;
      can_be_cut |= algorithm.can_be_cut;
      doc += fmt::format("{}{}: {}", doc.empty() ? "" : " ", name_of(algorithm.collective), algorithm.description);
    }
    if (takes_group) fields.push_back(group_field("The number of ranks in a group; the GPUs of a server when not given."));
    if (takes_inner) {
      auto inner =
          optional("inner", &Settings::inner,
                   "The algorithm among the leaders, by its name; when not given the one that \"mpi\" is for as many ranks and the size.");
      inner.writes([](const Settings& s) { return s.inner.empty() ? Json(Json::value_t::discarded) : Json(s.inner); });
      fields.push_back(inner);
      const auto in_group = [&](const char* key, std::string Settings::*member, const char* what) {
        auto field = optional(key, member, what);
        field.writes([member](const Settings& s) { return (s.*member).empty() ? Json(Json::value_t::discarded) : Json(s.*member); });
        fields.push_back(field);
      };
      in_group("up", &Settings::up, "The reduce of a group to its leader, by its name; when not given \"binomial_tree\".");
      in_group("down", &Settings::down, "The broadcast of a leader to its group, by its name; when not given \"binomial_tree\".");
    }
    if (takes_library) {
      fields.push_back(optional(
          "library", &Settings::library,
          "Whose rules choose: open_mpi (4.1 to 5.0), open_mpi_4.0 (that and before), mpich or intel_mpi; when not given open_mpi."));
      fields.push_back(
          group_field("Of mpich and intel_mpi: the ranks of a host, one of which leads; the GPUs of a server when not given, where they "
                      "divide the ranks."));
    }
    if (takes_servers) {
      auto field = optional("servers", &Settings::servers,
                            "The number of parameter servers, each for an equal part of the message; 1 when not given.", at_least(1));
      field.writes([](const Settings& s) { return s.servers > 0 ? Json(s.servers) : Json(Json::value_t::discarded); });
      fields.push_back(field);
      fields.push_back(optional("server_hosts", &Settings::server_hosts,
                                "workers: some ranks are servers too, evenly among all; extra: servers are no ranks, and take the first "
                                "endpoints without one."));
    }
    if (staggers)
      fields.push_back(
          group_field("Ranks in a group, through which each channel goes from another rank on (a ring for each NIC); with several "
                      "channels the GPUs of a server when not given."));
    if (can_be_cut) {
      auto channels = optional("channels", &Settings::channels,
                               "The number of channels: parts of the message that run the algorithm side by side.", at_least(1));
      if (name == "nccl") {
        channels.doc = "NCCL's channels, parts of the message; one for each NIC of a server when not given.";
        channels.writes(
            [](const Settings& s) { return s.channels_follow || s.channels == 0 ? Json(Json::value_t::discarded) : Json(s.channels); });
      }
      fields.push_back(channels);
      auto pieces = optional("pieces", &Settings::pieces,
                             "The number of segments of each part, which are pipelined. When not given: as \"segment\" says, or the number "
                             "that is fastest where the algorithm is a tree or a chain, or else 1.",
                             at_least(1));
      pieces.writes(not_zero(&Settings::pieces));
      fields.push_back(pieces);
      auto segment = optional("segment", &Settings::segment, "The most bytes that one message carries, instead of a number of \"pieces\".",
                              at_least(1_B));
      segment.writes([](const Settings& s) { return s.segment.count > 0 ? Json(to_string(s.segment)) : Json(Json::value_t::discarded); });
      fields.push_back(segment);
    }
    if (name == "nccl") {
      auto nics =
          optional("nics", &Settings::nics, "NICs of a server, whose rails the rings stay on; the server's when not given.", at_least(1));
      nics.writes(not_zero(&Settings::nics));
      fields.push_back(nics);
      fields.push_back(
          optional("pxn", &Settings::pxn,
                   "Of an all-to-all: whether what goes to another rail leaves by the NIC of the GPU on that rail, over NVLink "
                   "(PXN); when not given: where NVLinks join all GPUs of a server with several NICs."));
      fields.push_back(
          optional("algorithm", &Settings::nccl,
                   "ring, tree, nvls (the NVSwitch of a server aggregates, and with the fabric's \"sharp\" the switches between servers), "
                   "nvls_tree (NVSwitches aggregate, trees between servers), collnet_direct and collnet_chain (the switches between "
                   "servers aggregate; inside, all GPUs send to those by the NICs, or in chains to them), or auto: the one that NCCL's "
                   "tuning model expects to be the fastest at the size."));
      fields.push_back(optional("protocol", &Settings::protocol,
                                "ll (8 bytes at a time, half of them flags), ll128 (120 of 128 bytes are data, over NVLink), simple, or "
                                "auto: the one that NCCL's tuning model expects to be the fastest at the size."));
    }
    if (name == imported_algorithms().front().name) {
      doc = imported_algorithms().front().description;
      fields.push_back(required_as<ScheduleFileForm>(
          "file", &Settings::imported, "MSCCL XML or MSCCL++ JSON, relative to the scenario; for as many ranks as take part."));
    }
    out.alternatives.push_back({.name = name,
                                .doc = doc,
                                .fields = lifted<A, Settings>(fields, settings_of),
                                .select =
                                    [name](A& choice) {
                                      choice.name = name;
                                      if (name == "nccl") choice.settings.channels = 0;
                                    },
                                .selected = [name](const A& choice) { return choice.name == name; }});
  }
  const auto in_network = [&](std::size_t which, Fields<A> fields) {
    const InNetworkProtocol& a = in_network_protocols()[which];
    out.alternatives.push_back({.name = std::string(a.name),
                                .doc = fmt::format("allreduce: {}", a.description),
                                .fields = std::move(fields),
                                .select = [name = std::string(a.name)](A& choice) { choice.name = name; },
                                .selected = [name = std::string(a.name)](const A& choice) { return choice.name == name; }});
  };
  in_network(0, lifted<A, AtpSettings>(
                    atp_fields(), +[](A& choice) -> AtpSettings& { return choice.atp; }));
  in_network(1, lifted<A, SwitchmlSettings>(
                    switchml_fields(), +[](A& choice) -> SwitchmlSettings& { return choice.switchml; }));
  return out;
}

}  // namespace weft
