#include "validation/fit/defaults.hpp"

#include "models/nccl_tuning.hpp"
#include "validation/fit/simulator.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace weft {
namespace {

bool reduces(const MeasuredSetup& e) { return e.collective == "allreduce" || e.collective == "reduce_scatter" || e.collective == "reduce"; }

// What the ranks of a host work on together is more than the last level of a host's cache usually holds.
bool leaves_cache(const MeasuredSetup& e) {
  const std::int64_t of_a_host = e.nodes > 0 ? std::max(1, e.ranks / e.nodes) : 1;
  return static_cast<double>(e.size.count * of_a_host) >= usual_of_hosts("last_level_cache")->value;
}

// What a collective of MPI tells of the memory of its hosts.
std::vector<const char*> of_hosts(const MeasuredSetup& e) {
  std::vector<const char*> out;
  const auto add = [&](std::initializer_list<const char*> names) { out.insert(out.end(), names.begin(), names.end()); };
  const bool shared = e.nodes > 0 && e.ranks > e.nodes;
  if (reduces(e)) add({"initial_copies", "reduce_rate", "reduce_cache", "reduce_rate_beyond_cache"});
  if ((reduces(e) || shared) && leaves_cache(e)) add({"last_level_cache"});
  if (reduces(e) && leaves_cache(e)) add({"reduce_rate_in_memory"});
  if (reduces(e) && e.size >= HardwareProfile{}.fresh_buffer) add({"page_fault_rate"});
  if (shared) add({"sockets_overhead", "copy_rate", "copy_rate_of_socket", "host_eager_copy_rate", "host_handshake"});
  if (shared && leaves_cache(e)) add({"copy_rate_in_memory"});
  if (e.collective == "alltoall") add({"local_copy"});
  return out;
}

std::vector<std::string> parameters_of_shared_gpu() {
  return {"call_overhead",       "pcie_overhead",         "reduce_launch",
          "reduce_rate",         "reduce_rate_in_memory", "copy_rate",
          "copy_rate_in_memory", "last_level_cache",      std::string(name_of_sized_costs)};
}

// What there is nothing to tell from: no way in which NCCL may run one of the calls has it.
bool is_idle(const std::string& name, const std::vector<Regime>& possible) {
  using Has = bool (*)(const Regime&);
  constexpr Has ll = [](const Regime& r) { return r.protocol == NcclProtocol::ll; };
  constexpr Has ll128 = [](const Regime& r) { return r.protocol == NcclProtocol::ll128; };
  constexpr Has simple = [](const Regime& r) { return r.protocol == NcclProtocol::simple; };
  constexpr Has between_servers = [](const Regime& r) { return r.between_servers; };
  constexpr Has tree = [](const Regime& r) { return r.pattern == NcclAlgorithm::tree; };
  static const std::map<std::string, Has> who_has = {{"ll_hops", ll},
                                                     {"ll_efficiency", ll},
                                                     {"ll_bias", ll},
                                                     {"ll128_hops", ll128},
                                                     {"ll128_efficiency", ll128},
                                                     {"ll128_bias", [](const Regime& r) { return ll128(r) && r.between_servers; }},
                                                     {"simple_hops", simple},
                                                     {"simple_base", simple},
                                                     {"simple_efficiency", simple},
                                                     {"network_hops", between_servers},
                                                     {"tree_efficiency", tree},
                                                     {"tree_bias", tree},
                                                     {"nvls_efficiency", nvswitches_add},
                                                     {"nvls_bias", nvswitches_add}};
  const auto has = who_has.find(name);
  return has != who_has.end() && std::ranges::none_of(possible, has->second);
}

}  // namespace

std::vector<std::string> default_parameters(const std::vector<MeasuredSetup>& measured, const std::set<PathClass>& ways) {
  std::vector<std::string> out;
  const auto add = [&](std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (std::ranges::find(out, name) == out.end()) out.emplace_back(name);
  };
  std::set<std::pair<std::string, int>> numbers_of_steps;  // as algorithms and ranks
  std::set<int> ranks_of_a_server;                         // of NCCL's calls within one
  for (const MeasuredSetup& e : measured) {
    if (e.algorithm.name == "nccl") {
      add({"call_overhead", "nccl_base", "ll_hops", "ll128_hops", "simple_hops", "network_hops", "ll_efficiency", "ll128_efficiency",
           "simple_efficiency", "tree_efficiency", "nvls_efficiency", "ll_bias", "ll128_bias", "tree_bias", "nvls_bias", "nccl_channel",
           "nccl_own_rate"});
      if (e.nodes == 1) ranks_of_a_server.insert(e.ranks);
      if (e.nodes > 1 && e.ranks > e.nodes) add({"nccl_launch"});
      if (e.nodes > 1 && e.collective == "alltoall") add({"nccl_peer"});
      if (e.nodes > 1) add({"nccl_network", "nccl_hop", "rendezvous", "rendezvous_threshold"});
      if (e.gpus_of_a_process > 1) add({"process_launch"});
      continue;
    }
    // Of what a message costs its sender and its receiver these measurements tell the sum.
    add({"send_overhead", "wire_efficiency"});
    if (e.nodes != 1 && ways.contains(PathClass::rail)) add({"rail_overhead"});
    if (e.nodes != 1 && ways.contains(PathClass::network)) add({"network_overhead"});
    if (e.nodes != 1) add({"eager_copy_rate", "handshake"});
    if (e.nodes > 0 && e.ranks > e.nodes) add({"nvlink_overhead", "pcie_overhead"});
    if (e.nodes != 1 && e.collective == "bandwidth") add({"sender_share", "unpipelined_rate"});
    if (is_point_to_point(e.collective)) continue;
    for (const char* name : of_hosts(e)) add({name});
    numbers_of_steps.emplace(e.algorithm.name, e.ranks);
  }
  // What Simple takes to begin is told from what its hops take by calls of more and of fewer GPUs.
  if (ranks_of_a_server.size() > 1) add({"simple_base"});
  // What a call costs is told from what its messages cost by calls of more of them and of fewer.
  if (numbers_of_steps.size() > 1) add({"call_overhead"});
  out.emplace_back(name_of_sized_costs);
  return out;
}

std::vector<std::string> unmeasured_parameters(const std::vector<MeasuredSetup>& measured) {
  std::vector<std::string> out;
  std::set<std::string> told;
  bool hosts = false, shares_are_known = true;
  for (const MeasuredSetup& e : measured) {
    if (e.algorithm.name == "nccl" || is_point_to_point(e.collective)) continue;
    hosts = true;
    shares_are_known = shares_are_known && e.nodes > 0;
    for (const char* name : of_hosts(e)) told.insert(name);
  }
  if (!hosts) return out;
  const auto add = [&](std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (!told.contains(name)) out.emplace_back(name);
  };
  add({"initial_copies", "reduce_rate", "reduce_cache", "reduce_rate_beyond_cache", "last_level_cache", "reduce_rate_in_memory",
       "page_fault_rate", "local_copy"});
  if (shares_are_known)
    add({"sockets_overhead", "copy_rate", "copy_rate_in_memory", "copy_rate_of_socket", "host_eager_copy_rate", "host_handshake"});
  return out;
}

std::vector<std::string> parameters_of_pairs(const Server& server) {
  if (server.is_sub_node()) return {};
  std::vector<std::string> out = {"/server/links/*/bandwidth", "send_overhead", "sockets_overhead"};
  if (std::ranges::any_of(server.links, [](const ServerLink& link) { return link.contention.duplex_rate.count > 0; }))
    out.emplace_back("/server/links/*/contention/duplex_rate");
  return out;
}

OpenScenario open_by_default(const std::filesystem::path& scenario, const std::vector<Setting>& settings,
                             const std::vector<FitPoint>& points, const std::set<PathClass>& ways, Simulator& simulator) {
  if (simulator.scenario().server.ranks > 0) return {scenario, settings, parameters_of_shared_gpu()};
  std::vector<MeasuredSetup> measured;
  std::vector<Regime> possible;
  for (const FitPoint& p : points) {
    if (!p.fitted) continue;
    measured.push_back(p.setup);
    for (const Regime& regime : simulator.nccl_choices(p.setup)) possible.push_back(regime);
  }
  std::vector<std::string> names = default_parameters(measured, ways);
  std::erase_if(names, [&](const std::string& name) { return is_idle(name, possible); });
  return OpenScenario(scenario, settings, names).with_usual(unmeasured_parameters(measured));
}

OpenScenario open_for(const std::filesystem::path& scenario, const std::vector<Setting>& settings, const std::vector<std::string>& names,
                      const std::vector<FitPoint>& points, Simulator& simulator) {
  const std::set<PathClass> ways = ways_between_servers(points, simulator);
  const OpenScenario open =
      names.empty() ? open_by_default(scenario, settings, points, ways, simulator) : OpenScenario(scenario, settings, names);
  return open.with_ways_measured(ways).with_biases_of(calls_of_nccl(points, simulator));
}

}  // namespace weft
