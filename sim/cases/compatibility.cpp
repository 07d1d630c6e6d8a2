#include "sim/cases/compatibility.hpp"

#include "collectives/in_network/atp.hpp"
#include "models/fabric/programmable.hpp"
#include "models/server/server_fabric.hpp"
#include "sim/cases/compression_check.hpp"
#include "sim/cases/jobs.hpp"
#include "sim/cases/program_check.hpp"
#include "sim/cases/sized.hpp"
#include "sim/cases/stand_ins.hpp"
#include "sim/cases/trace_check.hpp"
#include "sim/cases/training_check.hpp"
#include "sim/scenario/algorithms.hpp"
#include "sim/scenario/fault_fields.hpp"
#include "sim/scenario/networks.hpp"
#include "sim/scenario/repeat_fields.hpp"
#include "sim/scenario/scenario_fields.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace weft {
namespace {

// Whether the place is the part or in it.
bool is_in(std::string_view where, std::string_view part) {
  return where.starts_with(part) && (where.size() == part.size() || where[part.size()] == '/');
}

// No problem in the part, of those from this one on.
bool clean(const Input& in, std::string_view part, std::size_t first = 0) {
  return std::none_of(in.problems.begin() + static_cast<std::ptrdiff_t>(first), in.problems.end(),
                      [&](const Problem& p) { return is_in(p.where, part); });
}

// What of a scenario could be read, whatever is wrong with what was.
class Reading {
 public:
  Reading(const Json& json, const Input& in) : json(json), problems_(in.problems) {}

  // The part, and what it is in.
  bool has(std::string_view part) const { return has_but_for(part, {}); }
  // But for these.
  bool has_but_for(std::string_view part, std::initializer_list<std::string_view> others) const {
    return std::ranges::none_of(problems_, [&](const Problem& p) {
      return (is_in(p.where, part) || (!p.where.empty() && is_in(part, p.where))) &&
             std::ranges::none_of(others, [&](std::string_view other) { return is_in(p.where, other); });
    });
  }
  // Where "all" are asked for, extra servers are known.
  bool has_ranks(const Workload& w) const {
    return has("/workload/ranks") && (w.ranks > 0 || (has("/workload/algorithm") && !w.algorithms.empty()));
  }
  bool has_calls() const { return has("/workload/collective") && has("/workload/model") && has("/workload/program"); }

  const Json& json;

 private:
  const std::vector<Problem> problems_;
};

// A quantity as it stands at this place, or as Weft writes it where several follow from what stands there.
std::string as_written(const Json& json, const std::string& at, Bytes size) {
  const Json::json_pointer pointer(at);
  return json.contains(pointer) && json.at(pointer).is_string() ? shown(json.at(pointer)) : fmt::format("\"{}\"", to_string(size));
}

// Of keys that could be read, whatever is wrong with others.
void check_workload(const Json& json, const Workload& workload, Input& in) {
  const bool dtype_read = clean(in, "/workload/dtype");
  if (dtype_read && clean(in, "/workload/op") && !defined(workload.op, workload.dtype))
    in.problems.push_back({"/workload/op", fmt::format("\"{}\" is not defined on {}; it is on integers only", name_of(workload.op),
                                                       name_of(workload.dtype))});
  if (!clean(in, "/workload/size")) return;
  const auto element_bytes = static_cast<std::int64_t>(size_of(workload.dtype));
  for (std::size_t i = 0; i < workload.sizes.size(); ++i) {
    const std::string at = element_at(json, "/workload/size", i);
    if (dtype_read && workload.sizes[i].count % element_bytes != 0)
      in.problems.push_back({at, fmt::format("must be a multiple of {} bytes, the size of a {}, got {}", element_bytes,
                                             name_of(workload.dtype), as_written(json, at, workload.sizes[i]))});
    else if (workload.collective == Collective::barrier && workload.sizes[i].count > 0)
      in.problems.push_back(
          {at, fmt::format("a barrier has no bytes: leave the size out, got {}", as_written(json, at, workload.sizes[i]))});
    else if (workload.sizes[i] > max_message)
      in.problems.push_back(
          {at, fmt::format("must be at most {}, got {}", to_string(max_message), as_written(json, at, workload.sizes[i]))});
  }
}

void check_ranks(const Scenario& scenario, int ranks, Input& in) {
  const auto places = endpoints(scenario.fabric.spec, scenario.server);
  if (ranks > places)
    in.problems.push_back({"/workload/ranks", fmt::format("must be at most {}, the endpoints of the fabric, got {}", places, ranks)});
}

void check_server(const Scenario& scenario, Input& in) {
  if (scenario.server.ranks > 0 && !traits_of(scenario.network).shared)
    in.problems.push_back({"/network", fmt::format("\"{}\" knows no copies in the memory of a GPU: the server \"{}\" needs {}",
                                                   name_of(scenario.network), name_of_shared_gpu, networks_that(&NetworkTraits::shared))});
  if (scenario.server.is_sub_node() || traits_of(scenario.network).servers) return;
  in.problems.push_back({"/network", fmt::format("\"{}\" knows no PCIe: servers of several devices need {}", name_of(scenario.network),
                                                 networks_that(&NetworkTraits::servers))});
}

// Networks of others have no connections and no queues of sends of ours.
void check_senders(const Json& json, const Scenario& scenario, Input& in) {
  const auto refuse = [&](const char* key, std::string_view value, bool NetworkTraits::*can) {
    if (traits_of(scenario.network).*can) return;
    const std::string at = fmt::format("/hardware/{}", key);
    const bool written = json.contains("hardware") && json.at("hardware").is_object() && json.at("hardware").contains(key);
    in.problems.push_back({written ? at : "/hardware", fmt::format("\"{}\" is {}: the networks {} know it, \"{}\" does not", key, value,
                                                                   networks_that(can), name_of(scenario.network))});
  };
  const HardwareProfile& hardware = scenario.hardware;
  if (hardware.stream_rate.count > 0) refuse("stream_rate", to_string(hardware.stream_rate), &NetworkTraits::shared);
  if (hardware.staging_rate.count > 0) refuse("staging_rate", to_string(hardware.staging_rate), &NetworkTraits::shared);
  if (hardware.send_queue != SendQueue::channel)
    refuse("send_queue", fmt::format("\"{}\"", name_of(hardware.send_queue)), &NetworkTraits::send_queues);
}

void check_copies(const Scenario& scenario, Input& in) {
  if (scenario.copies.empty()) return;
  if (scenario.server.is_sub_node()) in.problems.push_back({"/copies", "need a server with host memory; a sub_node has none"});
  if (!traits_of(scenario.network).copies)
    in.problems.push_back(
        {"/copies", fmt::format("run on {} only, got \"{}\"", networks_that(&NetworkTraits::copies), name_of(scenario.network))});
  const auto places = endpoints(scenario.fabric.spec, scenario.server);
  for (std::size_t i = 0; i < scenario.copies.size(); ++i) {
    const std::string at = fmt::format("/copies/{}/gpus", i);
    std::set<int> named;
    for (std::size_t k = 0; clean(in, at) && k < scenario.copies[i].gpus.size(); ++k)
      if (const int gpu = scenario.copies[i].gpus[k]; gpu < 0 || gpu >= places)
        in.problems.push_back({fmt::format("{}/{}", at, k), fmt::format("must be between 0 and {}, got {}", places - 1, gpu)});
      else if (!named.insert(gpu).second)
        in.problems.push_back({fmt::format("{}/{}", at, k), fmt::format("GPU {} is named already: each has one copy at a time", gpu)});
  }
}

void check_packet(const PacketSettings& packet, const FabricChoice& fabric, const Server& server, bool fabric_good, Input& in) {
  for (Problem& problem : problems(packet)) in.problems.push_back({"/packet" + problem.where, std::move(problem.what)});
  const std::vector<LinkFailure>& failures = packet.faults.failures;
  const std::vector<std::string>& lossy = packet.faults.links;
  if ((failures.empty() && lossy.empty()) || !fabric_good) return;
  const auto built = build(fabric.spec, server);
  std::vector<std::string> names;
  for (LinkId id = 0; id < built->links(); ++id) names.push_back(built->link_name(id));
  const auto check_name = [&](const std::string& name, std::string at) {
    if (std::find(names.begin(), names.end(), name) != names.end()) return;
    const auto near = nearest_name(name, names);
    in.problems.push_back({std::move(at), fmt::format("the fabric has no link {}{}", shown(Json(name)),
                                                      near ? fmt::format(" (did you mean \"{}\"?)", *near)
                                                           : fmt::format("; it has links such as \"{}\"", names.front()))});
  };
  for (std::size_t i = 0; i < failures.size(); ++i) check_name(failures[i].link, fmt::format("/packet/faults/failures/{}/link", i));
  for (std::size_t i = 0; i < lossy.size(); ++i) check_name(lossy[i], fmt::format("/packet/faults/links/{}", i));
}

// Of patterns that could be read, whatever is wrong with others.
void check_traffic(const Scenario& scenario, Input& in) {
  std::vector<Problem> found;
  for (Problem& problem : traffic_problems(scenario))
    if (const auto element = problem.where.find('/', std::string_view("/traffic/").size());
        problem.where == "/traffic" || clean(in, std::string_view(problem.where).substr(0, element)))
      found.push_back(std::move(problem));
  in.problems.insert(in.problems.end(), found.begin(), found.end());
}

// A platform says which links a message takes, and not which switches are between them.
void check_platform(const Scenario& scenario, Input& in) {
  if (!std::holds_alternative<SimgridFabric>(scenario.fabric.spec)) return;
  if (scenario.network != NetworkKind::flow && scenario.network != NetworkKind::simgrid)
    in.problems.push_back({"/network", fmt::format("must be \"flow\" or \"simgrid\" for a fabric of type \"simgrid\", whose links have no "
                                                   "switches at their ends, got \"{}\"",
                                                   name_of(scenario.network))});
  if (scenario.fabric.programmable != ProgrammableSwitches{})
    in.problems.push_back({"/fabric/programmable", "a SimGrid platform has no switches to program"});
}

void check_sharp(const Scenario& scenario, Input& in) {
  if (!scenario.fabric.sharp) return;
  if (std::holds_alternative<SimgridFabric>(scenario.fabric.spec))
    in.problems.push_back({"/fabric/sharp", "a SimGrid platform has no switches that could add"});
  if (!traits_of(scenario.network).sharp)
    in.problems.push_back({"/network", fmt::format("\"{}\" has no in-network aggregation as the fabric's \"sharp\" asks for; {} has",
                                                   name_of(scenario.network), networks_that(&NetworkTraits::sharp))});
  if (scenario.faults.any())
    in.problems.push_back({"/faults", "in-network aggregation (\"sharp\") is not rerouted around failures: leave one of them out"});
  const bool training = scenario.workload.training.given();
  if (training || scenario.workload.has_program())
    in.problems.push_back({training ? "/workload/model" : "/workload/program",
                           "in-network aggregation (\"sharp\") is for a collective by itself: leave one of them out"});
}

void check_programmable(const FabricChoice& choice, Input& in) {
  if (choice.programmable == ProgrammableSwitches{}) return;  // nothing to build the fabric for
  for (Problem& problem : problems(choice.programmable, *build(choice.spec)))
    in.problems.push_back({"/fabric/programmable" + problem.where, std::move(problem.what)});
}

// Where "all" ranks are asked for and extra servers leave no endpoint for one, nothing else can be judged.
bool leaves_ranks(const Json& json, const Scenario& scenario, Input& in) {
  const auto places = endpoints(scenario.fabric.spec, scenario.server);
  bool any = true;
  for (std::size_t i = 0; i < scenario.workload.algorithms.size(); ++i) {
    const AlgorithmSettings& settings = scenario.workload.algorithms[i].settings;
    const int servers = extra_servers(settings);
    if (scenario.workload.ranks > 0 || servers < places) continue;
    any = false;
    in.problems.push_back({element_at(json, "/workload/algorithm", i) + key_of_servers(settings),
                           fmt::format("must leave one of the {} endpoints of the fabric to a rank, got {}", places, servers)});
  }
  return any;
}

void check_algorithms(const Reading& read, const Scenario& scenario, Input& in) {
  for (std::size_t i = 0; i < scenario.workload.algorithms.size(); ++i) {
    const std::string at = element_at(read.json, "/workload/algorithm", i);
    if (!read.has(at)) continue;  // of which settings are missing
    for (Problem& problem : algorithm_problems(scenario, scenario.workload.algorithms[i], at)) in.problems.push_back(std::move(problem));
  }
}

// Of all gradients of a rank's part of the model.
Bytes gradients_of(const Workload& w) {
  const std::int64_t parts = w.training.model_parallel;
  std::int64_t elements = 0;
  for (const Layer& layer : w.training.model.table->layers)
    for (const ParameterTensor& tensor : layer.tensors) elements += (tensor.elements + parts - 1) / parts;
  return Bytes{elements * static_cast<std::int64_t>(size_of(w.training.gradient_dtype.value_or(w.dtype)))};
}

// Of a workload that trains or compresses as of the whole message: what its calls run is chosen for that first.
void check_segments(const Json& json, const Scenario& scenario, Input& in) {
  const Workload& w = scenario.workload;
  if (w.has_program() || std::ranges::none_of(w.algorithms, [](const auto& a) { return a.settings.segment.count > 0; })) return;
  Scenario calls = scenario_of_calls(scenario);
  calls.jobs.clear();
  if (w.training.given()) calls.workload.sizes = {gradients_of(w)};
  for (std::size_t i = 0; i < w.algorithms.size(); ++i)
    if (const std::string at = element_at(json, "/workload/algorithm", i); clean(in, at))
      if (std::string why = too_many_segments(calls, w.algorithms[i]); !why.empty())
        in.problems.push_back({at + "/segment", std::move(why)});
}

void check_switchml(const Scenario& scenario, Input& in) {
  const auto adds_up = [](const AlgorithmChoice& choice) { return choice.name == "switchml"; };
  if (std::ranges::none_of(scenario.workload.algorithms, adds_up) &&
      std::ranges::none_of(scenario.jobs, [&](const JobChoice& job) { return job.algorithm && adds_up(*job.algorithm); }))
    return;
  const auto fabric = build(scenario.fabric.spec);
  const std::vector<NodeId> programmable = programmable_nodes(scenario.fabric.programmable, *fabric), switches = edge_switches(*fabric);
  if (std::ranges::any_of(switches, [&](NodeId at) { return std::ranges::binary_search(programmable, at); })) return;
  const NodeId last = std::ranges::max(switches);
  in.problems.push_back({"/fabric/programmable/switches",
                         fmt::format("switchml adds up in a switch with endpoints{}, and none of them can be programmed; got {}",
                                     last < 0 ? "" : fmt::format(", such as \"{}\"", fabric->device(last).name),
                                     shown(Json(scenario.fabric.programmable.switches)))});
}

// What a packet of ATP has no bits for, wherever the servers are. Where this depends on them, it is found when they are placed.
void check_fan_in(const Json& json, const Scenario& scenario, Input& in) {
  std::unique_ptr<Fabric> fabric;
  std::vector<int> switch_of, programmable;  // by endpoint
  for (std::size_t row = 0; row < scenario.workload.algorithms.size(); ++row) {
    const AlgorithmChoice& choice = scenario.workload.algorithms[row];
    if (choice.name != "atp") continue;
    if (!fabric) {
      fabric = build(scenario.fabric.spec, scenario.server);
      switch_of = edge_switches(*fabric);
      programmable = programmable_nodes(scenario.fabric.programmable, *fabric);
    }
    std::vector<int> workers;
    for (const int endpoint : placement_of_workload(scenario, choice)) workers.push_back(switch_of[static_cast<std::size_t>(endpoint)]);
    std::vector<int> servers;
    for (const int endpoint : choice.atp.server_nodes) servers.push_back(switch_of[static_cast<std::size_t>(endpoint)]);
    if (servers.empty()) servers = switch_of;
    std::string why;
    for (const int server : servers) try {
        plan_atp_tree(workers, server, programmable);
        why.clear();
        break;
      } catch (const InputError& e) {
        why = e.what();
      }
    if (!why.empty()) in.problems.push_back({element_at(json, "/workload/algorithm", row), why});
  }
}

// Beside the rows whose algorithms are good, or where there is none, beside one that is; up to the first job that could not be read, for
// which endpoints are left to those behind it is not known.
void check_jobs(const Reading& read, Scenario scenario, Input& in) {
  Workload& w = scenario.workload;
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < w.algorithms.size(); ++i)
    if (clean(in, element_at(read.json, "/workload/algorithm", i))) rows.push_back(i);
  if (rows.empty()) {
    rows = {w.algorithms.size()};
    w.algorithms.push_back({.name = algorithm_names(w.collective).front()});
  }
  if (!clean(in, "/workload/size")) w.sizes.clear();
  if (!clean(in, "/workload/op")) w.op = ReduceOp::sum;
  for (std::size_t i = 0; i < scenario.jobs.size(); ++i)
    if (!read.has(fmt::format("/jobs/{}", i))) scenario.jobs.resize(i);
  for (Problem& problem : job_problems(scenario, rows)) in.problems.push_back(std::move(problem));
}

// What depends on who the ranks are and how many, for ranks that fit the fabric.
void check_with_ranks(const Reading& read, const Scenario& scenario, Input& in) {
  const Workload& w = scenario.workload;
  const std::size_t before = in.problems.size();
  if (read.has_but_for("/workload", {"/workload/ranks", "/workload/algorithm", "/workload/size", "/workload/op", "/workload/root"}))
    for (Problem& problem : training_problems(read.json, scenario)) in.problems.push_back(std::move(problem));
  if (read.has_calls() && !w.has_program()) check_algorithms(read, scenario, in);
  if (w.has_program() && read.has_but_for("/workload", {"/workload/ranks"}))
    for (Problem& problem : w.trace.given() ? trace_problems(scenario) : program_problems(scenario))
      in.problems.push_back(std::move(problem));
  if (read.has("/placement"))
    for (Problem& problem : problems(scenario.placement, ranks_of(scenario), scenario.fabric.spec, scenario.server))
      in.problems.push_back({"/placement" + problem.where, std::move(problem.what)});
  if (!read.has_calls() || !read.has("/placement") || !clean(in, "/placement") || !clean(in, "/workload/ranks", before)) return;
  const bool trains_well = clean(in, "/workload/model_parallel") && clean(in, "/workload/engine");
  if (trains_well && clean(in, "/workload/size") && clean(in, "/workload/dtype")) check_segments(read.json, scenario, in);
  if (read.has("/network")) check_jobs(read, scenario, in);
  if (in.problems.empty()) check_fan_in(read.json, scenario, in);
}

// What is wrong whatever the fabric is, or however many ranks there are.
void check_on_any_fabric(void (*check)(const Reading&, const Scenario&, Input&), const Reading& read, const Scenario& scenario,
                         const FabricKnown& known, Input& in) {
  std::optional<std::vector<Problem>> common;
  for (const Scenario& stand_in : stand_ins(scenario, known)) {
    Input found = in;
    check(read, stand_in, found);
    found.problems.erase(found.problems.begin(), found.problems.begin() + std::ssize(in.problems));
    if (!common) common = found.problems;
    std::erase_if(*common,
                  [&](const Problem& p) { return is_of_fabric(p) || std::ranges::find(found.problems, p) == found.problems.end(); });
  }
  in.problems.insert(in.problems.end(), common->begin(), common->end());
}

// What depends on a fabric that can be built.
void check_with_fabric(const Reading& read, const Scenario& scenario, Input& in) {
  check_workload(read.json, scenario.workload, in);
  if (read.has_but_for("/workload", {"/workload/algorithm", "/workload/ranks", "/workload/root"}) && clean(in, "/workload/size"))
    for (Problem& problem : compression_problems(read.json, scenario)) in.problems.push_back(std::move(problem));
  if (read.has("/hardware") && read.has("/network")) check_senders(read.json, scenario, in);
  check_programmable(scenario.fabric, in);
  check_sharp(scenario, in);
  check_copies(scenario, in);
  check_server(scenario, in);
  check_traffic(scenario, in);
  const bool ranks_fit = read.has_ranks(scenario.workload) && leaves_ranks(read.json, scenario, in);
  if (read.has("/workload/ranks")) check_ranks(scenario, ranks_of(scenario), in);
  if (ranks_fit && clean(in, "/workload/ranks"))
    check_with_ranks(read, scenario, in);
  else
    check_on_any_fabric(check_with_ranks, read, scenario, {}, in);
  if (clean(in, "/fabric") && scenario.server.is_sub_node()) check_switchml(scenario, in);
  if (read.has("/repeat") && read.has("/workload/stragglers") && read.has("/traffic"))
    for (Problem& problem : repeat_problems(scenario)) in.problems.push_back(std::move(problem));
  if (clean(in, "/faults"))
    for (Problem& problem : fault_problems(scenario)) in.problems.push_back(std::move(problem));
}

template <class T>
void refuse_twice(const std::string& list, const std::vector<T>& entries, Input& in) {
  if (!clean(in, list)) return;
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (const auto first = std::ranges::find(entries, entries[i]) - entries.begin(); std::cmp_less(first, i))
      in.problems.push_back({fmt::format("{}/{}", list, i), fmt::format("stands at {}/{} already", list, first)});
}

// Entries of a list that could only repeat what another one says already.
void check_listed_twice(const Scenario& scenario, Input& in) {
  refuse_twice("/workload/stragglers/ranks", scenario.workload.training.stragglers.ranks, in);
  refuse_twice("/faults/failures", scenario.faults.failures, in);
  if (scenario.packet) refuse_twice("/packet/faults/links", scenario.packet->faults.links, in);
}

}  // namespace

void check_compatibility(const Json& json, const Scenario& as_read, Input& in) {
  const Reading read(json, in);
  Scenario scenario = as_read;  // a program without an algorithm of the workload's has the default one
  if (scenario.workload.has_program() && scenario.workload.algorithms.empty()) scenario.workload.algorithms = {default_algorithm()};
  if (read.has("/fabric"))
    for (Problem& problem : problems(scenario.fabric.spec, read.has("/server") ? scenario.server : Server{}))
      in.problems.push_back(std::move(problem));
  if (read.has("/network") && !traits_of(scenario.network).in_this_build) {
    std::vector<std::string> names;
    for (const NetworkTraits& traits : networks())
      if (traits.in_this_build) names.emplace_back(traits.name);
    in.problems.push_back(
        {"/network", fmt::format("\"{}\" is not in this build; available: {}", name_of(scenario.network), quoted_list(names))});
  }
  const bool server_good = clean(in, "/server"), fabric_good = server_good && clean(in, "/fabric");
  check_platform(scenario, in);
  if (fabric_good)
    check_with_fabric(read, scenario, in);
  else
    check_on_any_fabric(check_with_fabric, read, scenario,
                        {.server = server_good, .sharp = read.has("/fabric/type") && read.has("/fabric/sharp")}, in);
  if (scenario.packet && clean(in, "/packet")) check_packet(*scenario.packet, scenario.fabric, scenario.server, fabric_good, in);
  check_listed_twice(scenario, in);
}

}  // namespace weft
