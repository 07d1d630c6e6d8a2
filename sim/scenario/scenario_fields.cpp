#include "sim/scenario/scenario_fields.hpp"

#include "sim/scenario/algorithms.hpp"
#include "sim/scenario/compression_fields.hpp"
#include "sim/scenario/fault_fields.hpp"
#include "sim/scenario/networks.hpp"
#include "sim/scenario/packet_fields.hpp"
#include "sim/scenario/repeat_fields.hpp"
#include "sim/scenario/sizes.hpp"
#include "sim/scenario/sweep.hpp"
#include "sim/scenario/trace_fields.hpp"
#include "sim/scenario/training_fields.hpp"

namespace weft {
namespace {

struct AllRanks {
  static constexpr int value = 0;
  static constexpr const char* word = "all";
};

struct RanksOfWorkload {
  static constexpr int value = 0;
  static constexpr const char* word = "as_workload";
};

struct AllEndpoints {
  static const std::vector<int> value;
  static constexpr const char* word = "all";
};
const std::vector<int> AllEndpoints::value = {};

struct NeverStops {
  static constexpr SimTime value = SimTime::never();
  static constexpr const char* word = "never";
};

template <class E, class All>
std::vector<std::pair<E, std::string>> named(const All& all) {
  std::vector<std::pair<E, std::string>> out;
  for (const E value : all) out.emplace_back(value, name_of(value));
  return out;
}

constexpr Collective all_collectives[] = {Collective::allreduce, Collective::reduce_scatter, Collective::allgather, Collective::broadcast,
                                          Collective::reduce,    Collective::alltoall,       Collective::barrier};

// `sweep` is taken out before a case is read; declared so that it is known, described and suggested.
Field<Scenario> sweep_field() {
  return {.name = "sweep",
          .doc =
              "Pointers to lists or ranges of values (the run is their product, and weft tune chooses among them), or a list of settings, "
              "one for "
              "each case.",
          .read = [](const Json&, const JsonPath&, Input&, Scenario&) { return true; },
          .write = [](const Scenario&) { return Json(Json::value_t::discarded); },
          .schema = sweep_schema,
          .wanted = "an object of lists"};
}

Field<Scenario> schema_field() {
  return {.name = "schema",
          .doc = "Version of the scenario format; this page describes version 1.",
          .is_required = true,
          .read = [](const Json& json, const JsonPath& where, Input& in, Scenario&) { return json == 1 || in.unwanted(where, "1", json); },
          .write = [](const Scenario&) { return Json(1); },
          .schema =
              [] {
                return Json{{"const", 1}};
              },
          .wanted = "1"};
}

Field<Scenario> editor_field() {
  return {.name = "$schema",
          .doc = "For editors: where the JSON Schema of this file is.",
          .read = [](const Json& json, const JsonPath& where, Input& in,
                     Scenario&) { return json.is_string() || in.unwanted(where, "a string", json); },
          .write = [](const Scenario&) { return Json(Json::value_t::discarded); },
          .schema =
              [] {
                return Json{{"type", "string"}};
              },
          .wanted = "a string"};
}

// 0 is not given.
Field<AlgorithmSettings> group_field(std::string doc) {
  auto field = optional("group", &AlgorithmSettings::group, std::move(doc), at_least(1));
  field.write = [](const AlgorithmSettings& s) { return s.group > 0 ? Json(s.group) : Json(Json::value_t::discarded); };
  return field;
}

// 0 is not given.
std::function<Json(const AlgorithmSettings&)> not_zero(int AlgorithmSettings::*member) {
  return [member](const AlgorithmSettings& s) { return s.*member > 0 ? Json(s.*member) : Json(Json::value_t::discarded); };
}

std::vector<Field<AtpSettings>> atp_fields() {
  using C = AtpSettings;
  auto servers = optional("servers", &C::servers,
                          "The number of parameter servers, each for an equal share of the values. When not given: one, where the fabric "
                          "has an endpoint without a rank, else as many as ranks, at most 8, among them.",
                          at_least(1));
  servers.write = [](const C& c) { return c.servers > 0 ? Json(c.servers) : Json(Json::value_t::discarded); };
  auto aggregators = optional("aggregators", &C::aggregators,
                              "Of each programmable switch, for all jobs; as the fabric says when not given.", at_least(1));
  aggregators.write = [](const C& c) { return c.aggregators > 0 ? Json(c.aggregators) : Json(Json::value_t::discarded); };
  auto largest_window = optional("largest_window", &C::largest_window,
                                 "The largest window of each worker with each server, in packets. When not given, the windows with all "
                                 "servers together are twice what fits into a round trip.",
                                 at_least(1));
  largest_window.write = [](const C& c) { return c.largest_window > 0 ? Json(c.largest_window) : Json(Json::value_t::discarded); };
  auto server_nodes = optional("server_nodes", &C::server_nodes, "Instead of \"servers\": the endpoint of each parameter server.");
  server_nodes = not_empty(std::move(server_nodes));
  server_nodes.write = [](const C& c) { return c.server_nodes.empty() ? Json(Json::value_t::discarded) : Json(c.server_nodes); };
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
          optional("timeout", &C::timeout, "The largest retransmission timeout; it is shorter where round trips are known.")};
}

std::vector<Field<SwitchmlSettings>> switchml_fields() {
  using C = SwitchmlSettings;
  return {optional("slots", &C::slots, "The number of slots in the switch's pool.", at_least(1)),
          optional("payload", &C::payload, "The payload of a packet in bytes, at 4 bytes for each value."),
          optional("packet", &C::packet, "The bytes of a packet on the wire, with its payload."),
          optional("framing", &C::framing, "The framing of each packet on a link in addition: preamble, gap and FCS of Ethernet are 24B."),
          optional("host", &C::host, "What a packet costs a worker."),
          optional("timeout", &C::timeout,
                   "The retransmission timeout of a packet, doubled from the fourth time in a row on. When not given: 1ms, or twice what "
                   "all slots' packets take on the slowest link or through the switch if that is longer.")};
}

Alternative<Placement> placed(std::string name, PlacementPolicy policy, std::string doc, std::vector<Field<Placement>> fields = {}) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .fields = std::move(fields),
          .select = [policy](Placement& placement) { placement.policy = policy; },
          .selected = [policy](const Placement& placement) { return placement.policy == policy; }};
}

}  // namespace

const std::vector<std::pair<Collective, std::string>>& Names<Collective>::values() {
  static const auto all = named<Collective>(all_collectives);
  return all;
}
const std::vector<std::pair<DType, std::string>>& Names<DType>::values() {
  static const auto all = named<DType>(all_dtypes());
  return all;
}
const std::vector<std::pair<ReduceOp, std::string>>& Names<ReduceOp>::values() {
  static const auto all = named<ReduceOp>(all_ops());
  return all;
}
const std::vector<std::pair<ServerHosts, std::string>>& Names<ServerHosts>::values() {
  static const auto all = named<ServerHosts>(std::initializer_list<ServerHosts>{ServerHosts::workers, ServerHosts::extra});
  return all;
}
const std::vector<std::pair<NcclAlgorithm, std::string>>& Names<NcclAlgorithm>::values() {
  static const auto all =
      named<NcclAlgorithm>(std::initializer_list<NcclAlgorithm>{NcclAlgorithm::ring, NcclAlgorithm::tree, NcclAlgorithm::automatic});
  return all;
}
const std::vector<std::pair<NcclProtocol, std::string>>& Names<NcclProtocol>::values() {
  static const auto all = named<NcclProtocol>(
      std::initializer_list<NcclProtocol>{NcclProtocol::ll, NcclProtocol::ll128, NcclProtocol::simple, NcclProtocol::automatic});
  return all;
}
const std::vector<std::pair<NetworkKind, std::string>>& Names<NetworkKind>::values() {
  static const auto all = [] {
    std::vector<std::pair<NetworkKind, std::string>> out;
    for (const NetworkTraits& traits : networks()) out.emplace_back(traits.kind, traits.name);
    return out;
  }();
  return all;
}

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
  static std::string wanted() { return "the name of a file: MSCCL XML"; }
  static Json schema() { return {{"type", "string"}}; }
  static Json write(const ImportedSchedule& imported) { return imported.file; }
  static bool read(const Json& json, const JsonPath& where, Input& in, ImportedSchedule& out) {
    std::string file;
    if (!Form<std::string>::read(json, where, in, file)) return false;
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
    std::vector<Field<Settings>> fields;
    std::string doc;
    bool takes_group = false, takes_servers = false, staggers = false, can_be_cut = false;
    for (const Algorithm& algorithm : algorithms()) {  // for one collective or another
      if (algorithm.name != name) continue;
      takes_group |= algorithm.takes_group;
      takes_servers |= algorithm.takes_servers;
      staggers |= algorithm.staggers;
      can_be_cut |= algorithm.can_be_cut;
      doc += fmt::format("{}{}: {}", doc.empty() ? "" : " ", name_of(algorithm.collective), algorithm.description);
    }
    if (takes_group) fields.push_back(group_field("The number of ranks in a group; the GPUs of a server when not given."));
    if (takes_servers) {
      auto field = optional("servers", &Settings::servers,
                            "The number of parameter servers, each for an equal part of the message; 1 when not given.", at_least(1));
      field.write = [](const Settings& s) { return s.servers > 0 ? Json(s.servers) : Json(Json::value_t::discarded); };
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
        channels.write = not_zero(&Settings::channels);
      }
      fields.push_back(channels);
      auto pieces = optional("pieces", &Settings::pieces,
                             "The number of segments of each part, which are pipelined. When not given: as \"segment\" says, or the number "
                             "that is fastest where the algorithm is a tree or a chain, or else 1.",
                             at_least(1));
      pieces.write = not_zero(&Settings::pieces);
      fields.push_back(pieces);
      auto segment = optional("segment", &Settings::segment, "The most bytes that one message carries, instead of a number of \"pieces\".",
                              at_least(1_B));
      segment.write = [](const Settings& s) { return s.segment.count > 0 ? Json(to_string(s.segment)) : Json(Json::value_t::discarded); };
      fields.push_back(segment);
    }
    if (name == "nccl") {
      auto nics =
          optional("nics", &Settings::nics, "NICs of a server, whose rails the rings stay on; the server's when not given.", at_least(1));
      nics.write = not_zero(&Settings::nics);
      fields.push_back(nics);
      fields.push_back(optional("algorithm", &Settings::nccl,
                                "ring, tree, or auto: the one that NCCL's tuning model expects to be done first at the size."));
      fields.push_back(optional("protocol", &Settings::protocol,
                                "ll (8 bytes at a time, half of them flags), ll128 (120 of 128 bytes are data, over NVLink), simple, or "
                                "auto: the one that NCCL's tuning model expects to be done first at the size."));
    }
    if (name == imported_algorithms().front().name) {
      doc = imported_algorithms().front().description;
      fields.push_back(required_as<ScheduleFileForm>("file", &Settings::imported,
                                                     "MSCCL XML, relative to the scenario; for as many ranks as take part."));
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
  const auto in_network = [&](std::size_t which, std::vector<Field<A>> fields) {
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

Declaration<OperationSpec> Declared<OperationSpec>::declaration() {
  using O = OperationSpec;
  auto after = optional("after", &O::after, "The ids of operations that must have ended on a rank before it begins this one.");
  after.write = [](const O& o) { return o.after.empty() ? Json(Json::value_t::discarded) : Json(o.after); };
  auto ranks = optional_as<OrWord<std::vector<int>, AllEndpoints>>("ranks", &O::ranks,
                                                                   "The ranks that take part, none of them twice; the others skip it.");
  return {.doc = "What every rank does once: a computation, a collective, or a message from one rank to another.",
          .fields = {required("id", &O::id, "The name of the operation, which later operations refer to in \"after\"."),
                     optional("compute", &O::compute, "The operation is a computation of this time."),
                     optional("collective", &O::collective, "The operation is this collective of all ranks, or of those in \"ranks\"."),
                     optional("size", &O::size, "The message size of the collective in bytes."),
                     optional("algorithm", &O::algorithm, "The algorithm of the collective; as the workload's when not given."),
                     optional("send", &O::send, "The operation is a message of this size, which one rank sends and another receives."),
                     optional("from", &O::from, "The rank that sends the message."),
                     optional("to", &O::to, "The rank that receives the message."),
                     optional("stream", &O::stream,
                              "Operations of one rank on one stream follow one another in the order of the program; those on different "
                              "streams run side by side."),
                     after, ranks}};
}

Declaration<Workload> Declared<Workload>::declaration() {
  using W = Workload;
  auto algorithm = required_as<OneOrList<AlgorithmChoice>>("algorithm", &W::algorithms, "One algorithm, or several to compare.");
  auto size =
      required_as<SizesForm>("size", &W::sizes,
                             "Bytes of the message (nccl-tests' \"size\"): one, a list, or from one to another by a factor; not with a "
                             "\"program\" or a \"model\", which have their own.");
  algorithm.unless = {"program"};
  size.unless = {"program", "model"};
  size.write = [write = size.write](const W& w) {
    return !w.has_program() && !w.training.given() ? write(w) : Json(Json::value_t::discarded);
  };
  auto program =
      optional("program", &W::program,
               "Instead of one collective of one size: operations with dependencies, in streams, the same for all ranks; or what "
               "trace files hold.");
  program.write = [](const W& w) {
    if (w.trace.given()) return Form<TraceFiles>::write({w.trace.files, w.trace.lenient});
    return w.program.empty() ? Json(Json::value_t::discarded) : Form<std::vector<OperationSpec>>::write(w.program);
  };
  program.read = [](const Json& json, const JsonPath& where, Input& in, W& w) { return read_program(json, where, in, w); };
  program.schema = [] { return Json{{"oneOf", Json::array({Form<std::vector<OperationSpec>>::schema(), Form<TraceFiles>::schema()})}}; };
  program.wanted = "a list of operations, or {\"files\": [...]}";
  Declaration<W> out{
      .doc = "The workload: what the ranks do and how.",
      .fields = {
          optional("collective", &W::collective, "The collective operation that the ranks run."), algorithm, program, size,
          optional("dtype", &W::dtype, "The data type of the elements."),
          optional("op", &W::op, "The reduction operator that combines the elements."),
          optional("root", &W::root, "The root rank of broadcast and reduce.", at_least(0)),
          optional_as<OrWord<int, AllRanks>>("ranks", &W::ranks,
                                             "The number of ranks, which take the first endpoints of the placement; \"all\" takes all of "
                                             "them but those of extra parameter servers.",
                                             at_least(1)),
          optional("iterations", &W::iterations,
                   "The number of times that the collective is run; the time in the result is the average of one.", between(1, 1'000'000)),
          optional("compute", &W::compute, "The time from the end of an iteration to the start of the next.", at_least(SimTime{}))}};
  for (Field<W>& field : training_fields()) out.fields.push_back(std::move(field));
  out.fields.push_back(compression_field());
  return out;
}

Declaration<Placement> Declared<Placement>::declaration() {
  return {.doc = "The placement: which endpoint each rank sits on.",
          .tag = "policy",
          .alternatives = {placed("linear", PlacementPolicy::linear, "Rank r sits on endpoint r."),
                           placed("hdrm", PlacementPolicy::hdrm, "The rank map of HDRM, on a BiGraph."),
                           placed("random", PlacementPolicy::random, "The ranks sit on endpoints in random order.",
                                  {optional("seed", &Placement::seed, "The seed of the permutation; the scenario's seed when not given.")}),
                           placed("round_robin", PlacementPolicy::round_robin,
                                  "The ranks take one endpoint of each switch in turn, or of each server where servers have several GPUs."),
                           placed("list", PlacementPolicy::list, "The endpoint of each rank is given explicitly.",
                                  {required("nodes", &Placement::nodes, "The endpoints of the ranks 0, 1, 2, ... in order.")})},
          .shorthand = true};
}

Declaration<JobChoice> Declared<JobChoice>::declaration() {
  using J = JobChoice;
  return {
      .doc = "A job beside the workload; keys that are not given are those of the workload.",
      .fields = {optional("name", &J::name, "The name of the job, which goes with its results; job1, job2, ... when not given."),
                 optional("collective", &J::collective, "The collective operation that the ranks run."),
                 optional("algorithm", &J::algorithm, "One algorithm."), optional("size", &J::size, "The message size in bytes."),
                 optional("dtype", &J::dtype, "The data type of the elements."),
                 optional_as<OrWord<int, RanksOfWorkload>>("ranks", &J::ranks, "The number of ranks of the job.", at_least(1)),
                 optional("placement", &J::placement, "Among the endpoints that the workload and the jobs before it leave free."),
                 optional("share_endpoints", &J::share_endpoints,
                          "Its ranks may sit on endpoints of the workload and of other jobs, and share their NICs and links; false "
                          "when not given."),
                 optional("start", &J::start, "The time at which the ranks of the job start.", at_least(SimTime{})),
                 optional("iterations", &J::iterations, "The number of times that the collective is run.", between(1, 1'000'000)),
                 optional("compute", &J::compute, "The time from the end of an iteration to the start of the next.", at_least(SimTime{}))}};
}

Declaration<TrafficSpec> Declared<TrafficSpec>::declaration() {
  using T = TrafficSpec;
  const auto shape = [](std::string name, TrafficPattern pattern, std::string doc, std::vector<Field<T>> fields) {
    return Alternative<T>{.name = std::move(name),
                          .doc = std::move(doc),
                          .fields = std::move(fields),
                          .select = [pattern](T& traffic) { traffic.pattern = pattern; },
                          .selected = [pattern](const T& traffic) { return traffic.pattern == pattern; }};
  };
  const auto senders = [] {
    return optional_as<OrWord<std::vector<int>, AllEndpoints>>("endpoints", &T::endpoints, "The endpoints that send, none of them twice.");
  };
  return {
      .doc = "A pattern of flows that repeat.",
      .fields =
          {required("size", &T::size, "The bytes that each flow carries."),
           optional("start", &T::start, "The time at which the first flows begin."),
           optional_as<OrWord<SimTime, NeverStops>>("stop", &T::stop, "The time from which no flow begins any more."),
           optional(
               "period", &T::period,
               "The time from the start of a flow to the start of the next between the same two endpoints; with 0s they are back to back."),
           optional("on", &T::on,
                    "On-off traffic: flows begin during each \"on\" and not during the \"off\" that follows, counted from start; with 0s "
                    "they always begin."),
           optional("off", &T::off, "The time without new flows after each \"on\".")},
      .tag = "pattern",
      .alternatives = {shape("permutation", TrafficPattern::permutation, "Each endpoint sends to one other and receives from one other.",
                             {senders(), optional("seed", &T::seed, "The seed of the permutation; the scenario's seed when not given.")}),
                       shape("incast", TrafficPattern::incast, "All endpoints send to one of them (incast).",
                             {senders(), required("to", &T::to, "The endpoint that receives all flows (incast).")}),
                       shape("pairs", TrafficPattern::pairs, "The endpoint of each rank is given explicitly.",
                             {required("pairs", &T::pairs, "The pairs that send, each a list of sender and receiver.")})}};
}

Declaration<StartSkew> Declared<StartSkew>::declaration() {
  return {.doc = "Ranks start at random times, uniform from 0 to max.",
          .fields = {required("max", &StartSkew::max, "The latest time at which a rank starts."),
                     optional("seed", &StartSkew::seed, "The seed of the start times; the scenario's seed when not given.")}};
}

Declaration<Scenario> Declared<Scenario>::declaration() {
  using S = Scenario;
  return {
      .doc = "A Weft scenario: one cluster and what runs on it.",
      .fields = {
          editor_field(), schema_field(),
          optional("name", &S::name, "The name of the scenario, which goes with every result; the file's name when not given."),
          optional_as<FreeText>("description", &S::description, "Free text for whoever reads the scenario; it has no effect."),
          required("fabric", &S::fabric, "The network."),
          optional_as<ServerForm>("server", &S::server,
                                  "What a node of the fabric is: a preset, a description, or an NCCL topology file. Endpoints are GPUs."),
          optional_as<HardwareForm>("hardware", &S::hardware,
                                    "The hardware profile: the name of one in scenarios/hardware/, or overrides of one."),
          optional("network", &S::network, "The network model that carries messages."),
          optional("packet", &S::packet, "Settings of the network \"packet\"; of no effect on others."),
          required("workload", &S::workload, "The workload: what the ranks do and how."),
          optional("placement", &S::placement, "The placement: which endpoint each rank sits on."),
          optional("copies", &S::copies, "Copies between GPUs and host memory while the collective runs (data loading, prefetch)."),
          optional("jobs", &S::jobs, "Jobs that run beside the workload, on endpoints of their own."),
          optional("traffic", &S::traffic, "Background traffic: flows that repeat as long as jobs run."),
          optional("start_skew", &S::start_skew, "Random starts of the ranks."), faults_field(),
          optional("repeat", &S::repeat, "Each row is simulated several times with other random choices; its time is the median."),
          optional("seed", &S::seed, "The seed of every random choice without a seed of its own."), sweep_field()}};
}

}  // namespace weft
