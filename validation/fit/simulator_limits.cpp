// What the scenario says of a measurement by itself, whatever a profile costs: how fast its wire is, how little a call can take, and which
// ways its messages go.
#include "models/fabric/routes.hpp"
#include "models/nccl_tuning.hpp"
#include "models/server/server_fabric.hpp"
#include "sim/cases/nccl_question.hpp"
#include "sim/scenario/networks.hpp"
#include "validation/fit/parameters.hpp"
#include "validation/fit/simulator.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace weft {

double Simulator::wire_limit_us(const MeasuredSetup& e) const {
  const double n = e.ranks;
  double share = 1;  // of the message, that some rank must send or receive
  if (e.collective == "allreduce" && extra_servers(e.algorithm.settings) == 0) share = 2 * (n - 1) / n;
  if (e.collective == "reduce_scatter" || e.collective == "allgather" || e.collective == "alltoall") share = (n - 1) / n;
  if (e.collective == "bidirectional_bandwidth") share = 0.5;
  if (e.collective == "allreduce" && e.algorithm.name == "nccl" && switch_adds(scenario_.server)) share = std::min(share, (n + 1) / n);
  if (e.collective == "allreduce" && e.algorithm.name == "nccl" && scenario_.fabric.sharp) share = 1;
  if (e.ranks < 2 || e.collective == "barrier") return 0;
  // The fastest way out of the slowest endpoint.
  std::map<NodeId, double> out;
  for (LinkId link = 0; link < fabric_->links(); ++link) out[fabric_->from(link)] += fabric_->link(link).bandwidth.bytes_per_second();
  double slowest = std::numeric_limits<double>::infinity();
  for (int endpoint = 0; endpoint < std::min(e.ranks, fabric_->endpoints()); ++endpoint)
    slowest = std::min(slowest, out[fabric_->node_of(endpoint)]);
  return share * static_cast<double>(e.size.count) / slowest * 1e6;
}

std::vector<Regime> Simulator::nccl_choices(const MeasuredSetup& e) {
  if (is_point_to_point(e.collective)) return {};
  if (const NcclQuestion* question = question_of(e)) return nccl_regimes(*question, e.size);
  const std::optional<Regime> only = nccl_regime(e, scenario_.hardware);
  return only ? std::vector{*only} : std::vector<Regime>{};
}

// Senders that wait for nobody put all pieces of a message on its links at once, which can take longer than one behind the other, and many
// times as long to simulate.
double Simulator::least_us(const MeasuredSetup& e, double enough_us) {
  const HardwareProfile least = with_least_costs(scenario_.hardware);
  HardwareProfile waiting = least;
  waiting.eager_threshold = scenario_.hardware.eager_threshold;
  const auto takes_us = [&](const MeasuredSetup& as) {
    const double us = told_simulated_us(as, waiting);
    return us <= enough_us ? us : std::min(us, told_simulated_us(as, least));
  };
  double out = takes_us(e);
  const NcclQuestion* question = out > enough_us ? question_of(e) : nullptr;
  if (!question) return out;
  MeasuredSetup other = e;
  for (const Regime& regime : nccl_regimes(*question, e.size)) {
    if (out <= enough_us) break;
    other.algorithm.settings.nccl = regime.pattern, other.algorithm.settings.protocol = regime.protocol;
    out = std::min(out, takes_us(other));
  }
  return out;
}

std::string Simulator::limit_of_least(const MeasuredSetup& e) {
  constexpr Bytes enough = 16_MiB;  // larger calls are limited by what smaller ones are
  constexpr std::int64_t max_messages = 1'000'000;
  if (!traits_of(scenario_.network).runs_again) return {};
  const HardwareProfile least = with_least_costs(scenario_.hardware);
  MeasuredSetup asked = as_it_is_run(e, least, prepared(e));
  asked.size = std::min(asked.size, enough);
  while (!told_from(asked).empty()) asked = told_from(asked).front().call;  // by which larger ones are told
  if (count_messages(asked, least) > max_messages) return {};
  Prepared& p = prepared(asked);
  const Row row = experiment_of(p).run(asked.size, {.hardware = &least, .find_path = true, .each_alone = false});
  if (!row.critical_path || row.critical_path->limits.empty()) return {};
  const CriticalPath& path = *row.critical_path;
  const SimTime besides = path.latency + path.overhead + path.waiting;  // NCCL's overheads have the latencies of links in them
  return besides > path.bandwidth ? std::string() : path.limits.front().name;
}

std::set<PathClass> Simulator::ways_between_servers(const MeasuredSetup& e) {
  const Scenario asked = asked_for(e);
  const auto cluster = cluster_of(asked);
  const std::vector<int> ranks = place(asked.placement, e.ranks, asked.fabric.spec, asked.server);
  Routes routes(*cluster, {});
  std::set<PathClass> out;
  const auto add = [&](int from, int to) {
    if (from == to) return;
    const PathClass kind = routes.path_class(routes.of(from, to));
    if (leaves_server(kind)) out.insert(kind);
  };
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) add(ranks[0], ranks[rank]), add(ranks[rank - 1], ranks[rank]);
  return out;
}

std::optional<WaysBetweenServers> Simulator::switches_between_servers(const MeasuredSetup& e) {
  const Scenario asked = asked_for(e);
  return ways_of_ranks(asked, place(asked.placement, e.ranks, asked.fabric.spec, asked.server));
}

double Simulator::path_latency_us(const MeasuredSetup& e) const {
  const int from = std::max(e.from, 0), to = e.from < 0 ? 1 : e.to;
  if (e.collective != "latency" || std::max(from, to) >= fabric_->endpoints()) return 0;
  Routes routes(*fabric_, {});
  return routes.latency(routes.of(from, to)).microseconds();
}

}  // namespace weft
