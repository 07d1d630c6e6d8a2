#include "sim/scenario/scenario_fields.hpp"

#include "sim/json/sweep.hpp"
#include "sim/scenario/fault_fields.hpp"
#include "sim/scenario/networks.hpp"
#include "sim/scenario/packet_fields.hpp"
#include "sim/scenario/repeat_fields.hpp"

namespace weft {
namespace {

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
  return {{.name = "sweep",
           .doc = "Pointers to lists or ranges of values (the run is their product, and weft tune chooses among them), or a list of "
                  "settings, one for each case.",
           .schema = sweep_schema,
           .wanted = "an object of lists"},
          [](const Json&, const JsonPath&, Input&, Scenario&) { return true; },
          [](const Scenario&) { return Json::value_t::discarded; }};
}

Field<Scenario> schema_field() {
  return {{.name = "schema",
           .doc = "Version of the scenario format; this page describes version 1.",
           .is_required = true,
           .schema =
               [] {
                 return Json{{"const", 1}};
               },
           .wanted = "1"},
          [](const Json& json, const JsonPath& where, Input& in, Scenario&) { return json == 1 || in.unwanted(where, "1", json); },
          [](const Scenario&) { return 1; }};
}

Field<Scenario> editor_field() {
  return {{.name = "$schema",
           .doc = "For editors: where the JSON Schema of this file is.",
           .schema = Form<std::string>::schema,
           .wanted = "a string"},
          [](const Json& json, const JsonPath& where, Input& in, Scenario&) {
            return json.is_string() || in.unwanted(where, "a string", json);
          },
          [](const Scenario&) { return Json::value_t::discarded; }};
}

Alternative<Placement> placed(std::string name, PlacementPolicy policy, std::string doc, Fields<Placement> fields = {}) {
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
  static const auto all = named<NcclAlgorithm>(
      std::initializer_list<NcclAlgorithm>{NcclAlgorithm::ring, NcclAlgorithm::tree, NcclAlgorithm::nvls, NcclAlgorithm::nvls_tree,
                                           NcclAlgorithm::collnet_direct, NcclAlgorithm::collnet_chain, NcclAlgorithm::automatic});
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

Declaration<TrafficSpec> Declared<TrafficSpec>::declaration() {
  using T = TrafficSpec;
  const auto shape = [](std::string name, TrafficPattern pattern, std::string doc, Fields<T> fields) {
    return Alternative<T>{.name = std::move(name),
                          .doc = std::move(doc),
                          .fields = std::move(fields),
                          .select = [pattern](T& traffic) { traffic.pattern = pattern; },
                          .selected = [pattern](const T& traffic) { return traffic.pattern == pattern; }};
  };
  const auto senders = [] {
    return optional_as<OrWord<std::vector<int>, AllOfThem>>("endpoints", &T::endpoints, "The endpoints that send, none of them twice.");
  };
  return {
      .doc = "A pattern of flows that repeat.",
      .fields =
          {required("size", &T::size, "The bytes that each flow carries."),
           optional("start", &T::start, "The time at which the first flows begin."),
           optional_as<OrWord<SimTime, NeverStops>>("stop", &T::stop, "The time from which no flow begins any more."),
           optional(
               "period", &T::period,
               "The time from the start of a flow to the start of the next between the same two endpoints; a flow that takes longer delays "
               "the next, which its row says; with 0s they are back to back."),
           optional("on", &T::on,
                    "On-off traffic: flows begin during each \"on\" and not during the \"off\" that follows, counted from start; with 0s "
                    "they always begin."),
           optional("off", &T::off, "The time without new flows after each \"on\".")},
      .tag = "pattern",
      .alternatives = {shape("permutation", TrafficPattern::permutation, "Each endpoint sends to one other and receives from one other.",
                             {senders(), optional("seed", &T::seed, "The seed of the permutation; the scenario's seed when not given.")}),
                       shape("incast", TrafficPattern::incast, "All endpoints send to one of them (incast).",
                             {senders(), required("to", &T::to, "The endpoint that receives all flows (incast).")}),
                       shape("pairs", TrafficPattern::pairs, "Each pair of endpoints is given explicitly.",
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
