#include "validation/fit/simulator.hpp"

#include "models/server/server_fabric.hpp"
#include "sim/scenario/algorithms.hpp"
#include "sim/scenario/networks.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace weft {
namespace {

// Messages of one measurement that are on their way at once.
int messages_of(std::string_view collective) {
  return collective == "bandwidth" ? bandwidth_window : collective == "bidirectional_bandwidth" ? 2 * bandwidth_window : 1;
}

// Rank 0 sends once, or a window full that rank 1 then answers; or both send a window full at once. A chunk is a byte.
Schedule point_to_point(std::string_view collective, std::int64_t bytes) {
  const int count = static_cast<int>(bytes);
  Schedule s{.name = "point_to_point", .collective = Collective::broadcast, .ranks = 2, .chunks = std::max(1, count)};
  Step& step = s.add_step();
  const int each_way = collective == "latency" ? 1 : bandwidth_window;
  for (int i = 0; i < each_way; ++i) {
    step.copy({.from = 0, .to = 1, .chunk = 0, .count = count});
    if (collective == "bidirectional_bandwidth") step.copy({.from = 1, .to = 0, .chunk = 0, .count = count});
  }
  if (collective == "bandwidth") s.add_step().copy({.from = 1, .to = 0, .chunk = 0, .count = std::min(count, 4)});
  return s;
}

}  // namespace

bool is_point_to_point(std::string_view collective) {
  return collective == "latency" || collective == "bandwidth" || collective == "bidirectional_bandwidth";
}

Simulator::Simulator(Scenario scenario) : scenario_(std::move(scenario)), fabric_(build(scenario_.fabric.spec, scenario_.server)) {}

int Simulator::nodes() const { return fabric_->endpoints() / gpus_of_a_node(); }

bool Simulator::has_nodes(int wanted) const { return wanted <= nodes() || std::holds_alternative<Star>(scenario_.fabric.spec); }

// The scenario with as many servers as were measured, and ranks where they sat.
Scenario Simulator::asked_for(const MeasuredSetup& e) const {
  Scenario asked = scenario_;
  asked.workload.ranks = e.ranks;
  asked.workload.program.clear();  // a measurement is of one collective
  asked.workload.trace = {};
  asked.network = e.network.value_or(asked.network);
  const int gpus = gpus_of_a_node();
  if (e.nodes > nodes()) std::get<Star>(asked.fabric.spec).nodes = e.nodes;
  if (e.from >= 0) {
    asked.placement = {.policy = PlacementPolicy::list, .nodes = {e.from, e.to}};
  } else if (e.of_each_node > 0 && e.of_each_node < gpus && asked.placement.policy == PlacementPolicy::linear) {
    asked.placement.policy = PlacementPolicy::list;
    for (int rank = 0; rank < e.ranks; ++rank) asked.placement.nodes.push_back(rank / e.of_each_node * gpus + rank % e.of_each_node);
  }
  return asked;
}

std::shared_ptr<const Fabric> Simulator::cluster_of(const Scenario& asked) {
  const std::int64_t count = endpoints(asked.fabric.spec, asked.server);
  if (count == fabric_->endpoints()) return fabric_;
  auto& larger = larger_[count];
  if (!larger) larger = build(asked.fabric.spec, asked.server);
  return larger;
}

// Experiments on the one cluster, each for all sizes; of messages between two ranks, whose chunks are bytes, one for each size.
Experiment& Simulator::prepared(const MeasuredSetup& e) {
  const bool pair = is_point_to_point(e.collective);
  const std::string key = fmt::format("{} {} {} {} {} {} {} {} {}", e.collective, label(e.algorithm), e.ranks, pair ? e.size.count : 0,
                                      name_of(e.network.value_or(scenario_.network)), e.nodes, e.of_each_node, e.from, e.to);
  const auto at = prepared_.find(key);
  if (at != prepared_.end()) return at->second;
  Scenario asked = asked_for(e);
  const auto cluster = cluster_of(asked);
  if (pair) {
    if (e.size.count > std::numeric_limits<int>::max())
      throw InputError(fmt::format("a message of {} is larger than this test goes", to_string(e.size)));
    Program program{.ranks = 2};
    program.add_call({.schedule = std::make_shared<Schedule>(point_to_point(e.collective, e.size.count)),
                      .elements = std::max<std::int64_t>(1, e.size.count)});
    program.operations = {{{.call = 0}}};
    return prepared_.try_emplace(key, std::move(asked), std::move(program), e.collective, cluster).first->second;
  }
  asked.workload.collective = *collective_named(e.collective);
  AlgorithmChoice algorithm = e.algorithm;
  if (algorithm.name == "hdrm" && e.ranks < endpoints(asked.fabric.spec, asked.server)) {  // on a smaller BiGraph within the fabric
    algorithm = {"halving_doubling"};
    asked.placement = {.policy = PlacementPolicy::hdrm};
  }
  return prepared_.try_emplace(key, std::move(asked), algorithm, cluster).first->second;
}

std::int64_t Simulator::messages(const MeasuredSetup& e) {
  if (!traits_of(e.network.value_or(scenario_.network)).runs_again) return 1;
  return prepared(e).run(e.size, {.each_alone = false}).messages;
}

double Simulator::time_us(const MeasuredSetup& e, const HardwareProfile& hardware) {
  return time_of(prepared(e), e.size, hardware).microseconds() / messages_of(e.collective);
}

double Simulator::wire_limit_us(const MeasuredSetup& e) const {
  const double n = e.ranks;
  double share = 1;  // of the message, that some rank must send or receive
  if (e.collective == "allreduce" && extra_servers(e.algorithm.settings) == 0) share = 2 * (n - 1) / n;
  if (e.collective == "reduce_scatter" || e.collective == "allgather" || e.collective == "alltoall") share = (n - 1) / n;
  if (e.collective == "bidirectional_bandwidth") share = 0.5;
  if (e.ranks < 2 || e.collective == "barrier") return 0;
  // The fastest way out of the slowest endpoint.
  double slowest = std::numeric_limits<double>::infinity();
  for (int endpoint = 0; endpoint < std::min(e.ranks, fabric_->endpoints()); ++endpoint) {
    double out = 0;
    for (LinkId link = 0; link < fabric_->links(); ++link)
      if (fabric_->from(link) == fabric_->node_of(endpoint)) out += fabric_->link(link).bandwidth.bytes_per_second();
    slowest = std::min(slowest, out);
  }
  return share * static_cast<double>(e.size.count) / slowest * 1e6;
}

std::optional<AlgorithmChoice> algorithm_measured(const Measurement& m, const Renames& renames,
                                                  const std::vector<AlgorithmChoice>& otherwise) {
  if (is_point_to_point(m.collective)) return AlgorithmChoice{m.collective};
  const auto collective = collective_named(m.collective);
  if (!collective) return {};
  const auto known = [&](const std::string& name) { return find_algorithm(*collective, name) != nullptr; };
  const auto with_settings = [&](const AlgorithmChoice& choice) -> std::optional<AlgorithmChoice> {
    if (!known(choice.name)) return {};
    const auto same = std::ranges::find(otherwise, choice.name, &AlgorithmChoice::name);
    return choice == AlgorithmChoice{choice.name} && same != otherwise.end() ? *same : choice;
  };
  if (const auto renamed = renames.find(m.algorithm); renamed != renames.end()) return with_settings(renamed->second);
  if (m.algorithm.empty()) {
    for (const AlgorithmChoice& choice : otherwise)
      if (known(choice.name)) return choice;
    return {};
  }
  std::string name = m.algorithm;
  std::ranges::transform(name, name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  for (const std::string_view library : {"_ompi", "_mpich", "_mpi", "_over", "_nccl"})
    if (name.ends_with(library)) name.erase(name.size() - library.size());
  constexpr std::array synonyms = {std::pair{"rabenseifner", "halving_doubling"}, std::pair{"tree", "double_binary_tree"}};
  for (const auto& [other, ours] : synonyms)
    if (name == other) name = ours;
  return with_settings({name});
}

}  // namespace weft
