#include "sim/scenario/algorithms.hpp"

#include "models/server/server_fabric.hpp"
#include "models/traces/traced_job.hpp"
#include "sim/scenario/networks.hpp"
#include "sim/scenario/ranks_by_server.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace weft {

AlgorithmChoice default_algorithm() { return {"ring"}; }

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : algorithms())
    if (std::find(names.begin(), names.end(), algorithm.name) == names.end()) names.emplace_back(algorithm.name);
  names.emplace_back(imported_algorithms().front().name);
  for (const InNetworkProtocol& algorithm : in_network_protocols()) names.emplace_back(algorithm.name);
  return names;
}

int ranks_of(const Scenario& scenario) {
  if (scenario.workload.ranks > 0) return scenario.workload.ranks;
  if (scenario.workload.trace.given())
    if (const int world = world_of(*scenario.workload.trace.program); world > 0) return world;
  int servers = 0;
  for (const AlgorithmChoice& choice : scenario.workload.algorithms) servers = std::max(servers, extra_servers(choice.settings));
  return std::max(static_cast<int>(endpoints(scenario.fabric.spec, scenario.server)) - servers, 1);
}

std::vector<int> machines_of(std::span<const int> placement, const Server& server) {
  std::map<int, int> numbers;
  std::vector<int> out;
  for (const int endpoint : placement)
    out.push_back(numbers.try_emplace(endpoint / server.gpu_count(), static_cast<int>(numbers.size())).first->second);
  return out;
}

int extra_servers_of_engine(const Scenario& scenario) {
  const TrainingChoice& training = scenario.workload.training;
  if (!training.given() || training.engines.empty()) return 0;
  const BytepsSettings* byteps = std::get_if<BytepsSettings>(&training.engines.front().settings);
  if (!byteps || byteps->server_hosts != ServerHosts::extra) return 0;
  const int ranks = ranks_of(scenario);
  if (byteps->servers > 0 || !problems(scenario.placement, ranks, scenario.fabric.spec, scenario.server).empty())
    return byteps_servers(*byteps, {.ranks = ranks});
  const std::vector<int> placement = place(scenario.placement, ranks, scenario.fabric.spec, scenario.server);
  return byteps_servers(*byteps, {.ranks = ranks, .machines = std::ranges::max(machines_of(placement, scenario.server)) + 1});
}

std::string key_of_servers(const AlgorithmSettings& settings) { return settings.servers > 0 ? "/servers" : "/server_hosts"; }

Scenario scenario_of_calls(Scenario scenario) {
  const int all = ranks_of(scenario), parts = std::exchange(scenario.workload.training.model_parallel, 1);
  if (parts == 1) return scenario;
  if (problems(scenario.placement, all, scenario.fabric.spec, scenario.server).empty()) {
    const std::vector<int> seats = place(scenario.placement, all, scenario.fabric.spec, scenario.server);
    std::vector<int> of_part;
    for (int rank = 0; rank < all; rank += parts) of_part.push_back(seats[static_cast<std::size_t>(rank)]);
    scenario.placement = listed(of_part);
  }
  scenario.workload.ranks = all / parts;
  return scenario;
}

namespace {

// As NCCL finds it: that of the cable, or of the NIC's own link in the server where that is slower.
BitsPerSecond rate_of_nic(const Scenario& scenario) {
  BitsPerSecond out = slowest_endpoint(scenario.fabric.spec);
  for (const std::string& nic : scenario.server.nics) {
    BitsPerSecond own{};
    for (const ServerLink& link : scenario.server.links)
      if (link.from == nic || link.to == nic) own = std::max(own, link.spec().bandwidth);
    if (own.count > 0) out = std::min(out, own);
  }
  return out;
}

// Servers are those that ranks share; a channel for each NIC between servers, of the server with fewest ranks, or more where rings along
// NVLinks need them.
AlgorithmSettings nccl_defaults(const Scenario& scenario, AlgorithmSettings s) {
  const RanksByServer at = ranks_by_server(scenario, s);
  if (s.group == 0 && at.is_even() && scenario.server.gpu_count() > 1) s.group = at.least;
  const int gpus = at.least;
  if (s.nics == 0) s.nics = at.servers > 1 ? std::clamp(scenario.server.nic_count(), 1, gpus) : 1;
  const bool may_relay = scenario.workload.collective == Collective::alltoall && !s.pxn && at.ranks.empty();
  if (may_relay && s.nics > 1 && at.servers > 1 && gpus == scenario.server.gpu_count() && nvlinks_join_all(scenario.server)) s.pxn = true;
  s.channels_follow |= s.channels == 0;
  if (s.channels == 0 && s.pxn.value_or(false)) s.channels = 1;  // what it relays goes on in one message
  if (s.channels == 0) {
    const NvlinkRings rings = rings_of(scenario, s);
    s.channels = at.servers == 1 && !rings.orders.empty() ? static_cast<int>(rings.orders.size())
                                                          : nvlink_channels(rings, s.nics, rate_of_nic(scenario));
  }
  return s;
}

}  // namespace

NvlinkRings rings_of(const Scenario& scenario, const AlgorithmSettings& settings) {
  const RanksByServer at = ranks_by_server(scenario, settings);
  if (!at.is_even() || !at.on_first_gpus || at.least > scenario.server.gpu_count()) return {};
  return nvlink_rings(scenario.server, at.least);
}

AlgorithmChoice with_library(const Scenario& scenario, AlgorithmChoice choice) {
  const Algorithm* algorithm = find_algorithm(scenario.workload.collective, choice.name);
  if (algorithm && algorithm->takes_library && !choice.settings.library) choice.settings.library = scenario.hardware.mpi_library;
  return choice;
}

AlgorithmChoice with_server_defaults(const Scenario& scenario, AlgorithmChoice choice) {
  choice = with_library(scenario, std::move(choice));
  const Algorithm* algorithm = find_algorithm(scenario.workload.collective, choice.name);
  const int gpus = scenario.server.gpu_count();
  if (algorithm && algorithm->cuts_itself) choice.settings = nccl_defaults(scenario, choice.settings);
  if (!algorithm || algorithm->cuts_itself || choice.settings.group != 0 || gpus == 1) return choice;
  const bool rings = algorithm->staggers && choice.settings.channels > 1, leaders = leads_hosts(library_of(choice.settings));
  const RanksByServer at = ranks_by_server(scenario);
  const bool in_parts = scenario.workload.training.model_parallel > 1;
  const int group = (at.servers > 1 || in_parts) && at.is_even() && at.ranks.empty() ? at.least : gpus;
  if (algorithm->takes_group || ((rings || leaders) && ranks_of(scenario) % group == 0)) choice.settings.group = group;
  return choice;
}

std::string label_as_run(AlgorithmChoice choice) {
  choice.settings.channels_follow = false;
  return label(choice);
}

AlgorithmChoice without_server_defaults(const Scenario& scenario, AlgorithmChoice choice) {
  AlgorithmChoice open = choice;
  AlgorithmSettings& s = open.settings;
  s.group = 0, s.nics = 0, s.pxn.reset();  // the library stays: which ranks it groups depends on it
  const AlgorithmSettings of_server = with_server_defaults(scenario, open).settings;
  if (s = choice.settings; s.group == of_server.group) s.group = 0;
  if (s.nics == of_server.nics) s.nics = 0;
  if (s.pxn == of_server.pxn) s.pxn.reset();
  if (s.library == scenario.hardware.mpi_library) s.library.reset();
  if (s.channels_follow) s.channels = 0, s.channels_follow = false;
  return open;
}

Request request_of(const Scenario& scenario, const AlgorithmChoice& choice) {
  const Workload& workload = scenario.workload;
  Request out{.collective = workload.collective,
              .algorithm = choice.name,
              .ranks = ranks_of(scenario),
              .root = workload.root,
              .settings = with_server_defaults(scenario, choice).settings};
  const FabricSpec ports = ports_of(scenario.fabric.spec, scenario.server);
  const Algorithm* algorithm = find_algorithm(workload.collective, choice.name);
  if (algorithm && algorithm->cuts_itself) {
    out.orders = rings_of(scenario, out.settings).orders;
    out.machines = ranks_by_server(scenario, out.settings).ranks;
  }
  out.sharp = scenario.fabric.sharp;
  if (const auto* bigraph = std::get_if<BiGraph>(&ports)) out.bigraph = {bigraph->switches, bigraph->nodes_per_switch};
  return out;
}

namespace {

std::vector<Problem> in_network_problems(const Scenario& scenario, const AlgorithmChoice& choice, const std::string& at) {
  std::vector<Problem> out;
  const Workload& w = scenario.workload;
  const auto problem = [&](std::string where, std::string what) { out.push_back({std::move(where), std::move(what)}); };
  if (w.collective != Collective::allreduce)
    problem(at, fmt::format("{} does \"allreduce\" only, got \"{}\"", choice.name, name_of(w.collective)));
  if (w.op != ReduceOp::sum)
    problem("/workload/op", fmt::format("in-network aggregation adds; {} cannot do \"{}\"", choice.name, name_of(w.op)));
  if (!scenario.server.is_sub_node()) problem(at, fmt::format("{} runs on servers of one GPU and one NIC (\"sub_node\")", choice.name));
  if (!traits_of(scenario.network).in_network)
    problem("/network", fmt::format("\"{}\" has no programmable switches, which {} needs; {} have", name_of(scenario.network), choice.name,
                                    networks_that(&NetworkTraits::in_network)));
  const bool converted = w.training.given() && w.training.gradient_dtype;  // before it is added
  if (const DType added = converted ? *w.training.gradient_dtype : w.dtype; added != DType::float32 && added != DType::int32)
    problem(converted ? "/workload/gradient_dtype" : "/workload/dtype",
            fmt::format("{} adds 32-bit values: float32 (as fixed point) or int32, got {}", choice.name, name_of(added)));
  const ProgrammableSwitches& switches = scenario.fabric.programmable;
  const InNetworkSettings settings = in_network_settings(choice, switches);
  const Bytes payload = payload_of(settings);
  if (switches.payload.count > 0 && payload > switches.payload)
    problem(at + "/payload", fmt::format("must be at most {}, which is what the fabric's switches aggregate of a packet, got {}",
                                         to_string(switches.payload), to_string(payload)));
  for (const Problem& p : problems(settings)) problem(at + p.where, p.what);
  if (choice.name == "atp") {
    const auto places = endpoints(scenario.fabric.spec, scenario.server);
    for (std::size_t i = 0; i < choice.atp.server_nodes.size(); ++i)
      if (const int node = choice.atp.server_nodes[i]; node < 0 || node >= places)
        problem(fmt::format("{}/server_nodes/{}", at, i),
                fmt::format("must be between 0 and {}, the endpoints of the fabric, got {}", places - 1, node));
    if (!choice.atp.server_nodes.empty() && choice.atp.servers > 0)
      problem(at + "/servers", "follows from \"server_nodes\": leave one of them out");
    if (choice.atp.servers > places)
      problem(at + "/servers", fmt::format("must be at most {}, the endpoints of the fabric, got {}", places, choice.atp.servers));
  } else {
    if (switches.switches.empty()) problem("/fabric/programmable/switches", "none can be programmed, and switchml needs one");
    const int room = switches.aggregators / SwitchmlSettings::packets_per_slot;
    if (room < 1)
      problem("/fabric/programmable/aggregators", fmt::format("must be at least {} for switchml, the packets of a slot, got {}",
                                                              SwitchmlSettings::packets_per_slot, switches.aggregators));
    else if (choice.switchml.slots > room)
      problem(at + "/slots", fmt::format("must be at most {}: the fabric's switches hold {} packets (\"aggregators\"), and a slot two; "
                                         "got {}",
                                         room, switches.aggregators, choice.switchml.slots));
  }
  return out;
}

}  // namespace

std::vector<Problem> algorithm_problems(const Scenario& scenario, const AlgorithmChoice& choice, const std::string& at) {
  if (is_in_network(choice.name)) return in_network_problems(scenario, choice, at);
  const bool on_ports = choice.name == "hdrm" && std::holds_alternative<BiGraph>(scenario.fabric.spec);
  if (on_ports && !has_nic_for_each_gpu(scenario.server))
    return {{at, fmt::format("hdrm needs a NIC for each GPU; the server has {} GPUs and {} NICs", scenario.server.gpu_count(),
                             scenario.server.nic_count())}};
  const Request request = request_of(scenario, choice);
  if (const Algorithm* algorithm = find_algorithm(request.collective, choice.name); algorithm && algorithm->cuts_itself) {
    if (scenario.server.cores > 0)
      return {{at, fmt::format("{} runs on GPUs, and the servers have none (\"{}\")", choice.name, name_of_cpu_host)}};
    if (scenario.server.ranks > 0)
      return {{at, fmt::format("{} needs a GPU for each rank, and these share one (\"{}\")", choice.name, name_of_shared_gpu)}};
  }
  std::vector<Problem> out = constraints(request);
  if (request.collective == Collective::allreduce && !find_algorithm(request.collective, choice.name)) {
    std::vector<std::string> names;
    for (const Algorithm& algorithm : algorithms())
      if (algorithm.collective == Collective::allreduce) names.emplace_back(algorithm.name);
    names.emplace_back(imported_algorithms().front().name);
    for (const InNetworkProtocol& algorithm : in_network_protocols()) names.emplace_back(algorithm.name);
    return {{at, fmt::format("unknown allreduce algorithm \"{}\", must be one of {}", choice.name, fmt::join(names, ", "))}};
  }
  for (Problem& problem : out) {
    if (problem.where == "/algorithm")
      problem.where = at;
    else if (problem.where == "/root")
      problem.where = "/workload/root";
    else if (problem.where == "/ranks")
      problem = {"/workload/ranks", fmt::format("{} (for {})", problem.what, choice.name)};
    else if (problem.where == "/fabric/type")
      problem.what += fmt::format("; got \"{}\"", type_name(scenario.fabric.spec));
    else if (problem.where.starts_with("/fabric"))
      problem.what += fmt::format(" (for {})", choice.name);
    else
      problem.where = at + problem.where;
  }
  const NcclAlgorithm nccl = choice.settings.nccl;
  const bool by_nvswitch = nccl == NcclAlgorithm::nvls || nccl == NcclAlgorithm::nvls_tree;
  if (out.empty() && by_nvswitch && !scenario.server.is_sub_node() && !switch_adds(scenario.server))
    out.push_back(
        {at, fmt::format("{} adds in NVSwitches, and {}: those do whose GPUs have more than NVLink 3's 300 GB/s, as in \"dgx_h100\"",
                         name_of(nccl), scenario.server.nvswitches.empty() ? "the server has none" : "those of the server cannot")});
  const auto places = endpoints(scenario.fabric.spec, scenario.server);
  if (const int servers = extra_servers(choice.settings); out.empty() && servers > 0 && servers > places - request.ranks)
    out.push_back({at + key_of_servers(choice.settings), fmt::format("needs {} endpoints without a rank; {} of {} are left",
                                                                     extra_servers(choice.settings), places - request.ranks, places)});
  return out;
}

}  // namespace weft
