#include "validation/fit/simulator.hpp"

#include "models/fabric/routes.hpp"
#include "models/message_costs.hpp"
#include "models/nccl_tuning.hpp"
#include "models/server/server_fabric.hpp"
#include "sim/cases/jobs.hpp"
#include "sim/cases/nccl_question.hpp"
#include "sim/scenario/algorithms.hpp"
#include "sim/scenario/networks.hpp"
#include "validation/fit/call_overhead.hpp"
#include "validation/fit/large_calls.hpp"
#include "validation/fit/parameters.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

namespace weft {
namespace {

// Messages of one measurement that are on their way at once.
int messages_of(const MeasuredSetup& e) {
  return e.collective == "bandwidth" ? e.window : e.collective == "bidirectional_bandwidth" ? 2 * e.window : 1;
}

// Rank 0 sends once, or a window full that rank 1 then answers; or both send a window full at once. A chunk is a byte.
Schedule point_to_point(const MeasuredSetup& e) {
  const std::string_view collective = e.collective;
  const int count = static_cast<int>(e.size.count);
  Schedule s{.name = "point_to_point", .collective = Collective::broadcast, .ranks = 2, .chunks = std::max(1, count)};
  Step& step = s.add_step();
  const int each_way = collective == "latency" ? 1 : e.window;
  for (int i = 0; i < each_way; ++i) {
    step.copy({.from = 0, .to = 1, .chunk = 0, .count = count});
    if (collective == "bidirectional_bandwidth") step.copy({.from = 1, .to = 0, .chunk = 0, .count = count});
  }
  if (collective == "bandwidth" && each_way > 1) s.add_step().copy({.from = 1, .to = 0, .chunk = 0, .count = std::min(count, 4)});
  return s;
}

// What a time depends on, besides a call's overhead, which comes before it: of a call of NCCL the costs of the regime that it is in, not
// those of the others.
std::vector<double> costs_of(HardwareProfile hardware, const Regime& regime) {
  if (regime.protocol != NcclProtocol::automatic) {
    const HardwareProfile none;
    Regime plain = regime;
    plain.cost = 1;
    hardware = hardware.in(plain);
    hardware.nccl_base = none.nccl_base;
    hardware.ll_hops = none.ll_hops, hardware.ll128_hops = none.ll128_hops, hardware.simple_hops = none.simple_hops;
    hardware.network_hops = none.network_hops, hardware.nccl_launch = none.nccl_launch;
    hardware.nccl_peer = none.nccl_peer, hardware.nccl_channel = none.nccl_channel;
    hardware.nccl_network = none.nccl_network, hardware.nccl_hop = none.nccl_hop, hardware.nccl_own_rate = none.nccl_own_rate;
    hardware.simple_base = none.simple_base;
    hardware.ll_efficiency = none.ll_efficiency, hardware.ll128_efficiency = none.ll128_efficiency;
    hardware.simple_efficiency = none.simple_efficiency, hardware.tree_efficiency = none.tree_efficiency;
    hardware.nvls_efficiency = none.nvls_efficiency, hardware.nvls_bias = none.nvls_bias;
    hardware.ll_bias = none.ll_bias, hardware.ll128_bias = none.ll128_bias, hardware.tree_bias = none.tree_bias;
  }
  hardware.call_overhead = hardware.process_launch = {};
  std::vector<double> out{static_cast<double>(regime.protocol), static_cast<double>(regime.pattern), regime.cost};
  for (const HardwareParameter& p : hardware_parameters()) out.push_back(p.get(hardware));
  out.push_back(hardware.nvlink_gain);
  if (regime.protocol == NcclProtocol::automatic)
    for (const CostAtSize& cost : hardware.cost_by_size)
      if (cost.collective == name_of_message_costs) out.push_back(static_cast<double>(cost.size.count)), out.push_back(cost.factor);
  return out;
}

constexpr std::int64_t work_of_a_run = 400, work_of_looking_up = 30;

// Those in which a call has as much of its message as another, of which it tells, has in these.
HardwareProfile with_caches_for(const MeasuredSetup& call, const MeasuredSetup& other, HardwareProfile p) {
  const double bytes = static_cast<double>(call.size.count) / static_cast<double>(std::max<std::int64_t>(other.size.count, 1));
  const double ranks_of_server = call.nodes == other.nodes ? static_cast<double>(call.ranks) / other.ranks : 1;
  const auto scale = [](Bytes& cache, double by) {
    if (cache.count != INT64_MAX) cache.count = std::llround(static_cast<double>(cache.count) * by);
  };
  scale(p.reduce_cache, bytes);
  scale(p.last_level_cache, bytes * ranks_of_server);
  return p;
}

// Behind one another from the first on, and on the same switch: among those of two switches messages meet on links between switches.
int servers_of_first_switch(const Fabric& fabric, int gpus) {
  Routes routes(fabric, {});
  const auto hops_to = [&](int server) { return routes.hops(routes.of(0, server * gpus)).size(); };
  const int servers = fabric.endpoints() / gpus;
  int count = 1;
  while (count < servers && (count == 1 || hops_to(count) == hops_to(1))) ++count;
  return count;
}

}  // namespace

Simulator::Simulator(Scenario scenario)
    : scenario_(std::move(scenario)),
      fabric_(build(scenario_.fabric.spec, scenario_.server)),
      min_servers_(std::holds_alternative<Star>(scenario_.fabric.spec) ? 0 : 2 * servers_of_first_switch(*fabric_, gpus_of_a_node())) {}

int Simulator::nodes() const { return fabric_->endpoints() / gpus_of_a_node(); }

bool Simulator::has_nodes(int wanted) const { return wanted <= nodes() || std::holds_alternative<Star>(scenario_.fabric.spec); }

// One call and nothing beside it: what it costs before its first message comes on top of the rest.
bool Simulator::is_alone(const Scenario& s) {
  return s.jobs.empty() && s.traffic.empty() && s.copies.empty() && s.workload.iterations == 1;
}

// The scenario with as many servers as were measured, and ranks where they sat.
Scenario Simulator::asked_for(const MeasuredSetup& e) const {
  Scenario asked = scenario_;
  asked.workload.ranks = e.ranks;
  asked.workload.program.clear();  // a measurement is of one collective
  asked.workload.trace = {};
  asked.network = e.network.value_or(asked.network);
  const int gpus = gpus_of_a_node();
  // A star has as many servers as were measured: the others' links would be set up for every run.
  const int last = std::max({e.nodes, std::max(e.from, e.to) / gpus + 1, e.from < 0 ? (e.ranks + gpus - 1) / gpus : 0});
  const bool has_others = !is_alone(asked) || asked.faults.any() || asked.placement.policy != PlacementPolicy::linear || e.nodes == 0 ||
                          is_in_network(e.algorithm.name) || extra_servers(e.algorithm.settings) > 0;
  if (auto* star = std::get_if<Star>(&asked.fabric.spec); star && (e.nodes > nodes() || !has_others)) star->nodes = last;
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

std::size_t Simulator::OfOneExperiment::operator()(const MeasuredSetup& e) const {
  const AlgorithmSettings& s = e.algorithm.settings;
  std::size_t out = 0;
  for (const int n : {e.ranks, e.nodes, e.of_each_node, e.from, e.to, s.group, s.channels, s.pieces, static_cast<int>(s.nccl),
                      static_cast<int>(s.protocol)})
    boost::hash_combine(out, n);
  boost::hash_combine(out, s.last_piece);
  boost::hash_combine(out, e.collective);
  boost::hash_combine(out, e.algorithm.name);
  if (is_point_to_point(e.collective)) boost::hash_combine(out, e.size.count);
  return out;
}

bool Simulator::OfOneExperiment::operator()(const MeasuredSetup& a, const MeasuredSetup& b) const {
  const auto together = [](const MeasuredSetup& e) { return overlaps(e) ? e.back_to_back : 1; };
  return a.ranks == b.ranks && a.nodes == b.nodes && a.of_each_node == b.of_each_node && a.from == b.from && a.to == b.to &&
         a.window == b.window && a.network == b.network && together(a) == together(b) && a.collective == b.collective &&
         (a.size == b.size || !is_point_to_point(a.collective)) && a.algorithm == b.algorithm;
}

Simulator::Prepared& Simulator::prepared(const MeasuredSetup& e) {
  const bool pair = is_point_to_point(e.collective);
  const auto at = prepared_.find(e);
  if (at != prepared_.end()) return at->second;
  Scenario asked = asked_for(e);
  const auto cluster = cluster_of(asked);
  if (pair) {
    if (e.size.count > std::numeric_limits<int>::max())
      throw InputError(fmt::format("a message of {} is larger than this test goes", to_string(e.size)));
    Program program{.ranks = 2};
    program.add_call({.schedule = std::make_shared<Schedule>(point_to_point(e)), .elements = std::max<std::int64_t>(1, e.size.count)});
    program.operations = {{{.call = 0}}};
    Experiment experiment(asked, std::move(program), e.collective, cluster);
    return prepared_.try_emplace(e, Prepared{std::move(asked), {}, cluster, {}, std::move(experiment)}).first->second;
  }
  asked.workload.collective = *collective_named(e.collective);
  AlgorithmChoice algorithm = with_library(asked, e.algorithm);
  const Algorithm* known = find_algorithm(asked.workload.collective, algorithm.name);
  const int in_server = e.of_each_node > 0 ? e.of_each_node : std::min(e.ranks, gpus_of_a_node());
  const bool leaders = leads_hosts(library_of(algorithm.settings));
  if (known && (known->cuts_itself || known->takes_group || leaders) && algorithm.settings.group == 0 && e.ranks % in_server == 0 &&
      (in_server > 1 || gpus_of_a_node() > 1))
    algorithm.settings.group = in_server;
  if (algorithm.name == "hdrm" && e.ranks < endpoints(asked.fabric.spec, asked.server)) {  // on a smaller BiGraph within the fabric
    algorithm = {"halving_doubling"};
    asked.placement = {.policy = PlacementPolicy::hdrm};
  }
  std::vector<int> placement = placements_of_jobs(asked, algorithm).front();
  return prepared_.try_emplace(e, Prepared{std::move(asked), algorithm, cluster, std::move(placement)}).first->second;
}

void Simulator::tell_beyond(std::int64_t messages) {
  max_messages_ = messages;
  for (auto& [setup, prepared] : prepared_) prepared.told_from.clear();
}

Experiment& Simulator::experiment_of(Prepared& p) {
  if (!p.experiment) p.experiment.emplace(p.scenario, p.algorithm, p.cluster);
  return *p.experiment;
}

const Cost& Simulator::cost_of(Prepared& p) {
  if (!p.cost) p.cost = cost(request_of(p.scenario, p.algorithm));
  return *p.cost;
}

SimTime Simulator::run(Prepared& p, Bytes size, const Experiment::Options& asked) {
  work_ += work_of_a_run;
  if (!traits_of(p.scenario.network).runs_again) return time_of(experiment_of(p), size, *asked.hardware, asked.calls);
  RunWork work;
  Experiment::Options options = asked;
  options.work = &work;
  options.each_alone = false;
  SimTime time = experiment_of(p).run(size, options).time;
  if (options.mean_finish) time = *options.mean_finish;
  work_ += work.messages + static_cast<std::int64_t>(work.events + work.solved_flows);
  return time;
}

std::int64_t Simulator::work_of(const MeasuredSetup& e) {
  Prepared& p = prepared(e);
  const auto [at, is_new] = p.work_of_size.try_emplace(e.size.count, 0);
  if (!is_new) return at->second;
  if (is_told(e, scenario_.hardware)) return at->second = work_of_a_message * max_messages_;
  const std::int64_t before = work_;
  run(is_point_to_point(e.collective) ? p : prepared(as_it_is_run(e, scenario_.hardware, p)), e.size, {.hardware = &scenario_.hardware});
  return at->second = work_ - before;
}

std::vector<std::int64_t> Simulator::message_sizes(const MeasuredSetup& e, const HardwareProfile& hardware) {
  if (is_point_to_point(e.collective)) return {e.size.count};
  Prepared& p = prepared(e);
  if (!traits_of(e.network.value_or(scenario_.network)).runs_again || regime_of(e, hardware, p).protocol != NcclProtocol::automatic)
    return {};
  if (const auto& smaller = told_from(as_it_is_run(e, hardware, p)); !smaller.empty()) return message_sizes(smaller.front().call, hardware);
  Timeline timeline;
  experiment_of(p).run(e.size, {.hardware = &hardware, .timeline = &timeline, .each_alone = false});
  std::set<std::int64_t> out;
  for (const MessageRecord& message : timeline.messages) out.insert(message.bytes);
  return {out.begin(), out.end()};
}

CostAtSize Simulator::call_of(const MeasuredSetup& e, const HardwareProfile& hardware) {
  if (is_point_to_point(e.collective)) return {e.collective, e.collective, e.ranks, e.size, 1, e.nodes};
  return {e.collective, sized_name(sized(e, hardware, prepared(e))), e.ranks, e.size, 1, e.nodes};
}

std::optional<Regime> Simulator::nccl_regime(const MeasuredSetup& e, const HardwareProfile& hardware) {
  if (is_point_to_point(e.collective)) return {};
  const Regime regime = sized(e, hardware, prepared(e)).regime;
  return regime.protocol != NcclProtocol::automatic ? std::optional(regime) : std::nullopt;
}

SizedChoice Simulator::sized(const MeasuredSetup& e, const HardwareProfile& hardware, Prepared& p) {
  if (!depends_on_size(p.scenario, p.algorithm)) return {p.algorithm};
  const auto ask = [&] { return for_size({p.scenario, hardware, *p.cluster, p.placement, e.size}, p.algorithm); };
  const Algorithm& algorithm = *find_algorithm(p.scenario.workload.collective, p.algorithm.name);
  std::vector<double> depends_on{static_cast<double>(e.size.count)};
  if (algorithm.cuts_itself) {
    // NCCL chooses by its own table, which of a profile only the biases change; how long NVLSTree's stages take depends on the wire.
    depends_on.insert(depends_on.end(), {hardware.ll_bias, hardware.ll128_bias, hardware.tree_bias, hardware.nvls_bias,
                                         static_cast<double>(hardware.biases_of), hardware.wire_efficiency,
                                         static_cast<double>(hardware.rendezvous_threshold.count)});
  } else if (algorithm.chooses == nullptr && p.algorithm.settings.segment.count == 0) {
    return ask();  // as many pieces as by the profile's overheads are done first
  }
  const auto [at, is_new] = p.chosen.try_emplace(std::move(depends_on));
  if (is_new) at->second = ask();
  return at->second;
}

Regime Simulator::regime_of(const MeasuredSetup& e, const HardwareProfile& hardware, Prepared& p) {
  const bool pair = is_point_to_point(e.collective);
  SizedChoice chosen;
  if (!pair) chosen = sized(e, hardware, p);
  if (hardware.cost_by_size.empty()) return chosen.regime;
  const std::string algorithm = pair ? e.collective : sized_name(chosen);
  chosen.regime.cost = hardware.cost_by_size.factor({e.collective, algorithm, e.ranks, e.size, e.nodes});
  return chosen.regime;
}

// Without what a call costs before its first message.
double Simulator::besides_overhead_us(const MeasuredSetup& e, const HardwareProfile& hardware, const Regime& regime, Prepared& p) {
  std::vector<double> costs = costs_of(hardware, regime);
  costs.push_back(static_cast<double>(e.size.count));
  costs.push_back(e.mean_of_ranks);
  costs.push_back(e.of_rank_0);
  const auto [at, is_new] = p.known_us.try_emplace(std::move(costs), 0.0);
  work_ += work_of_looking_up;
  if (!is_new) return at->second;
  SimTime mean;
  const double alone_us =
      run(p, e.size, {.hardware = &hardware, .mean_finish = e.mean_of_ranks ? &mean : nullptr, .regime = &regime}).microseconds();
  at->second = alone_us - hardware.in(regime).call_overhead.microseconds();
  if (overlaps(e)) {
    // A call ends so long after the one before it. The last rank ends the first call later than that, the root of a broadcast at once;
    // that of a reduction is the last one.
    const double later = !e.of_rank_0 ? 0.5 : e.collective == "broadcast" ? 0 : 1;
    const double apart_us = run(p, e.size, {.hardware = &hardware, .regime = &regime, .calls = 2}).microseconds() - alone_us;
    at->second -= (alone_us - apart_us) * (1 - later / e.back_to_back);
  }
  return at->second;
}

double Simulator::time_us(const MeasuredSetup& e, const HardwareProfile& hardware) {
  return std::max(simulated_us(e, hardware), min_launched_us(e, hardware));
}

double Simulator::told_us(const MeasuredSetup& e, const HardwareProfile& hardware) {
  return std::max(told_simulated_us(e, hardware), min_launched_us(e, hardware));
}

double Simulator::told_simulated_us(const MeasuredSetup& e, const HardwareProfile& hardware) {
  Prepared& p = prepared(e);
  if (is_point_to_point(e.collective) || !is_alone(p.scenario)) return simulated_us(e, hardware);
  const Regime regime = regime_of(e, hardware, p);
  const MeasuredSetup chosen = as_it_is_run(e, hardware, p);
  return before_messages_us(e, hardware, regime) + told_besides_overhead_us(chosen, hardware, regime);
}

bool Simulator::is_told(const MeasuredSetup& e, const HardwareProfile& hardware) {
  return !is_point_to_point(e.collective) && !told_from(as_it_is_run(e, hardware, prepared(e))).empty();
}

std::int64_t Simulator::count_messages(const MeasuredSetup& e, const HardwareProfile& hardware) {
  if (is_point_to_point(e.collective)) return messages_of(e);
  if (is_in_network(e.algorithm.name)) return 1;  // never told, and has no cost
  return cost_of(prepared(as_it_is_run(e, hardware, prepared(e)))).messages;
}

MeasuredSetup Simulator::as_it_is_run(const MeasuredSetup& e, const HardwareProfile& hardware, Prepared& p) {
  MeasuredSetup out = e;
  out.algorithm = sized(e, hardware, p).choice;
  const int gpus = gpus_of_a_node();
  if (e.nodes == 0 && e.ranks % gpus == 0) out.nodes = e.ranks / gpus, out.of_each_node = gpus;
  return out;
}

const std::vector<ToldFrom>& Simulator::told_from(const MeasuredSetup& chosen) {
  Prepared& p = prepared(chosen);
  const auto [at, is_new] = p.told_from.try_emplace(chosen.size.count);
  // Servers of a network's own, or ranks that sit elsewhere than behind one another, are no fewer where ranks are.
  const bool may_be_smaller = is_alone(p.scenario) && traits_of(p.scenario.network).runs_again && !is_in_network(chosen.algorithm.name) &&
                              extra_servers(chosen.algorithm.settings) == 0 && chosen.algorithm.name != "hdrm" &&
                              scenario_.placement.policy == PlacementPolicy::linear;
  if (is_new && may_be_smaller)
    at->second = weft::told_from(chosen, {max_messages_, min_servers_, [this](const MeasuredSetup& e) {
                                            Prepared& of = prepared(e);
                                            const bool runs = constraints(request_of(of.scenario, of.algorithm)).empty();
                                            return runs ? std::optional{cost_of(of)} : std::nullopt;
                                          }});
  return at->second;
}

double Simulator::told_besides_overhead_us(const MeasuredSetup& e, const HardwareProfile& hardware, const Regime& regime) {
  const std::vector<ToldFrom>& smaller = told_from(e);
  if (smaller.empty()) return besides_overhead_us(e, hardware, regime, prepared(e));
  double us = 0;
  for (const ToldFrom& of : smaller) us += of.times * told_besides_overhead_us(of.call, with_caches_for(of.call, e, hardware), regime);
  return std::max(us, 0.0);
}

double Simulator::simulated_us(const MeasuredSetup& e, const HardwareProfile& hardware) {
  if (is_point_to_point(e.collective) && hardware.call_overhead.ps > 0) {  // a message is no call of a collective
    HardwareProfile of_message = hardware;
    of_message.call_overhead = {};
    return simulated_us(e, of_message);
  }
  Prepared& p = prepared(e);
  if (!is_alone(p.scenario)) return run(p, e.size, {.hardware = &hardware}).microseconds() / messages_of(e);
  const Regime regime = regime_of(e, hardware, p);
  return (before_messages_us(e, hardware, regime) + besides_overhead_us(e, hardware, regime, p)) / messages_of(e);
}

const NcclQuestion* Simulator::question_of(const MeasuredSetup& e) {
  if (is_point_to_point(e.collective)) return nullptr;
  Prepared& p = prepared(e);
  const Algorithm* algorithm = find_algorithm(p.scenario.workload.collective, p.algorithm.name);
  if (!algorithm || !algorithm->cuts_itself) return nullptr;
  if (!p.question)
    p.question = nccl_question({p.scenario, p.scenario.hardware, *p.cluster, p.placement, e.size},
                               with_server_defaults(p.scenario, p.algorithm).settings);
  return &*p.question;
}

double Simulator::regret(const MeasuredSetup& e, const HardwareProfile& hardware) {
  const NcclQuestion* question = question_of(e);
  if (!question) return 0;
  HardwareProfile felt = hardware;
  if (overlaps(e)) felt.call_overhead = {};
  return std::hypot(nccl_regret(felt, *question, e.size).log_ratio, nccl_regret(felt, *question, 2 * e.size).log_ratio);
}

std::vector<Problem> Simulator::problems(const MeasuredSetup& e) {
  if (is_point_to_point(e.collective)) return {};
  const Prepared& p = prepared(e);
  return constraints(request_of(p.scenario, p.algorithm));
}

}  // namespace weft
