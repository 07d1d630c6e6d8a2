#include "sim/in_network/flow_trees.hpp"

#include "sim/in_network/aggregation_paths.hpp"
#include "sim/in_network/flows_of_jobs.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace weft {
namespace {

constexpr const char* left_out = "slow start, queues, losses and retransmissions";
constexpr const char* left_out_of_two_levels =
    "slow start, queues, losses and retransmissions, among them those of packets that collide at the first of two levels";

// So many packets of a flow on their way, one round trip long.
BitsPerSecond window_rate(double packets, Bytes packet, SimTime round_trip) {
  return {std::max<std::int64_t>(1, std::llround(packets * 8.0 * static_cast<double>(packet.count) / round_trip.seconds()))};
}

}  // namespace

FlowTrees::Flows::Flows(const InNetworkSite& site, const std::vector<PlacedAggregation>& jobs, SharedNetwork<FluidNetwork>& network)
    : site_(site),
      fabric_(site.routes.fabric()),
      network_(network.model()),
      lane_(network.join(*this)),
      jobs_(jobs),
      clusters_(clusters_of(site, jobs)),
      tasks_(place_tasks(clusters_, site, jobs)),
      programmable_(programmable_nodes(site.switches, fabric_)),
      deployment_(deploy(tasks_of(tasks_), programmable_)),
      states_(jobs.size()) {
  summary_.places = deployment_.places;
  summary_.left_out = left_out;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const std::vector<SimTime>& starts = jobs[j].starts;
    states_[j].last_start = starts.empty() ? SimTime{} : *std::ranges::max_element(starts);  // nothing is whole before
    states_[j].begun_by.resize(jobs[j].workers.size());
    if (!jobs[j].owner) ++repeated_;
  }
  std::vector<NodeId> programs;
  for (const InNetworkDeployment::Seat& seat : deployment_.seats)
    if (seat.role == InNetworkDeployment::Role::program) programs.push_back(seat.at);
  add_pipelines(programs, packet_of(tasks_.front().task.settings));
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const InNetworkDeployment::Job& job = deployment_.jobs[j];
    summary_.jobs.push_back({.servers = job.servers, .slots = job.slots, .packets = 0});
    const InNetworkSettings& own = tasks_[j].task.settings;
    for (const auto& endpoints : {jobs[j].workers, tasks_[j].servers}) add_hosts(endpoints, packet_of(own), host_of(own));
    std::visit([&](const auto& settings) { add_job(j, settings); }, own);
  }
}

InNetworkRun FlowTrees::Flows::result() const {
  InNetworkRun out{.bytes_on_link = std::vector<std::int64_t>(static_cast<std::size_t>(fabric_.links())), .summary = summary_};
  for (std::size_t j = 0; j < states_.size(); ++j) {
    const JobState& state = states_[j];
    InNetworkJobSummary& summary = out.summary.jobs[j];
    summary.packets = state.packets;
    summary.aggregated = state.collides && state.packets > 0 ? state.whole / static_cast<double>(state.packets) : 1;
    InNetworkRun::OfJob& job =
        out.jobs.emplace_back(InNetworkRun::OfJob{.iterations = state.iterations,
                                                  .messages = state.packets * state.senders,
                                                  .between_switches = busiest_between_switches(clusters_[j], tasks_[j], site_)});
    std::vector<std::int64_t> carried(static_cast<std::size_t>(fabric_.links()));
    for (const std::uint32_t f : state.flows)
      lane_.for_carried(flows_[f].route, flows_[f].carried, [&](LinkId link, std::int64_t bytes) {
        if (link < fabric_.links()) carried[static_cast<std::size_t>(link)] += bytes;  // not a pipeline
      });
    for (LinkId id = 0; id < fabric_.links(); ++id) {
      const std::int64_t bytes = carried[static_cast<std::size_t>(id)];
      out.bytes_on_link[static_cast<std::size_t>(id)] += bytes;
      if (fabric_.device(fabric_.from(id)).kind == DeviceKind::endpoint) job.max_sent = std::max(job.max_sent, bytes);
    }
  }
  return out;
}

// Whether both have aggregators of one switch.
bool FlowTrees::Flows::meet(const JobState& a, const JobState& b) {
  return std::ranges::any_of(a.switches, [&](NodeId at) { return std::ranges::binary_search(b.switches, at); });
}

// With whoever adds up in the same switches at the same time, as far as that is known when the iteration begins: those that are running,
// and those that will begin before it can end.
AtpCollisions FlowTrees::Flows::collisions_of(std::size_t j) {
  std::vector<AtpLoad> loads;
  for (std::size_t k = 0; k < jobs_.size(); ++k) {
    AtpLoad& load = loads.emplace_back(states_[k].load);
    if (k != j && !meet(states_[j], states_[k])) {
      load.present = 0;
      continue;
    }
    if (k == j || (!states_[k].rounds.empty() && states_[k].rounds.front().on_its_way)) {
      load.window = std::clamp(static_cast<double>(under_way(k)), 1.0, load.window);
      continue;
    }
    const SimTime later = states_[k].announced;
    load.present = later == SimTime::never()
                       ? 0
                       : 1 - std::min(static_cast<double>((later - network_.now()).ps) / static_cast<double>(states_[j].least.ps), 1.0);
  }
  if (loads != loads_) {
    collisions_ = expected_collisions(loads, summary_.places);
    loads_ = std::move(loads);
  }
  return collisions_[j];
}

// No faster than the switch to which most packets come for each of its own.
void FlowTrees::Flows::limit_by_pipelines(JobState& state) const {
  std::map<LinkId, int> packets;
  for (const std::uint32_t f : state.flows)
    if (flows_[f].part != Part::passed)
      for (const Hop& hop : with_pipelines(flows_[f].hops)) ++packets[hop.link];
  int most = 0;
  for (const auto& [at, link] : pipelines_) most = std::max(most, packets[link]);
  if (most == 0) return;
  const double limit = static_cast<double>(site_.switches.packets_per_second) / most;
  if (limit >= state.load.packets_per_second) return;
  state.load.server_speed *= state.load.packets_per_second / limit;
  state.load.packets_per_second = limit;
}

AtpLoad FlowTrees::Flows::load_of(std::size_t j, const AtpSettings& settings) const {
  const Bytes packet = settings.packet;
  const std::vector<int>& servers = tasks_[j].servers;
  const AtpRoundTrip trip = atp_round_trip(clusters_[j], servers, site_, packet);
  const EcnSettings ecn = site_.ecn;
  const Bytes marked = site_.switches.mark_above;
  const double packets_per_second = trip.packets / (trip.held + trip.elsewhere).seconds();
  BitsPerSecond slowest{INT64_MAX};
  for (const int server : servers) slowest = std::min(slowest, fabric_.link(clusters_[j].down_link(server)).bandwidth);
  return {
      .workers = static_cast<int>(clusters_[j].workers().size()),
      .servers = static_cast<int>(servers.size()),
      .packets_per_second = packets_per_second,
      .server_speed = static_cast<double>(slowest.count) / 8 / static_cast<double>(packet.count) / packets_per_second,
      .held_for = trip.held.seconds(),
      .elsewhere = trip.elsewhere.seconds(),
      .window = static_cast<double>(servers.size()) * settings.largest_window,
      .queue = ecn.on && settings.congestion_control
                   ? static_cast<double>((marked.count > 0 ? std::min(marked, ecn.min) : ecn.min).count) / static_cast<double>(packet.count)
                   : HUGE_VAL,
      .aggregators =
          static_cast<double>(settings.split ? std::max(settings.aggregators / static_cast<int>(jobs_.size()), 1) : settings.aggregators),
      .uneven = std::ranges::any_of(servers, [&](int at) { return std::ranges::count(clusters_[j].workers(), at) > 0; })};
}

// Each flow has its own window, all flows of a job together what the NIC takes.
void FlowTrees::Flows::add_job(std::size_t j, const AtpSettings& settings) {
  const InNetworkCluster& cluster = clusters_[j];
  const Bytes packet = settings.packet;
  states_[j].collides = true;
  states_[j].forwarded = settings.forwarded;
  states_[j].load = load_of(j, settings);
  for (const std::span<const int> ends : {std::span(cluster.workers()), std::span<const int>(tasks_[j].servers)})
    for (const int end : ends)
      if (const NodeId at = cluster.edge_switch(end); std::ranges::count(programmable_, at) > 0) states_[j].switches.push_back(at);
  std::ranges::sort(states_[j].switches);
  const std::vector<AtpFlow> flows = atp_flows({&tasks_[j].task, 1}, programmable_);
  for (std::size_t f = 0; f < flows.size(); ++f) {
    const int server = tasks_[j].servers[f];
    std::vector<std::vector<Hop>> paths;
    LinkSet down;
    SimTime there, back;
    for (const int w : cluster.workers()) {
      paths.push_back(cluster.path(w, server, site_.routes));
      there = std::max(there, time_on(paths.back(), packet, programmable_));
      const auto returns = cluster.path(server, w, site_.routes);
      down.add(returns);
      back = std::max(back, time_on(returns, packet, programmable_));
    }
    states_[j].round_trip = std::max(states_[j].round_trip, there + back);
    const AtpTree& tree = flows[f].tree;
    if (std::ranges::any_of(tree.members, [](const AtpMember& m) { return m.fan_in_1 > 0 && m.fan_in_2 > 1; }))
      summary_.left_out = left_out_of_two_levels;
    const AggregationTree up(paths, tree);
    states_[j].one_sum.push_back(tree.one_sum());
    const Tree to_server{j, f, packet, window_rate(settings.largest_window, packet, there + back)};
    // Where nothing aggregates there is nothing to collide in.
    const Part part = std::ranges::all_of(tree.members, [](const AtpMember& m) { return m.edge == 2; }) ? Part::all : Part::added;
    add(to_server, part, up.once.hops(), {}, there + back);
    for (const auto& again : up.more) add(to_server, part, again, {}, there + back);
    if (part == Part::added)
      for (const auto& path : paths) add(to_server, Part::passed, path, {}, there + back);
    add(to_server, Part::all, down.hops(), there, back);
  }
  states_[j].senders = static_cast<std::int64_t>(cluster.workers().size()) + 1;
  limit_by_pipelines(states_[j]);
}

// Workers of other racks reach the one switch with a packet each: nothing is added before it.
void FlowTrees::Flows::add_job(std::size_t j, const SwitchmlSettings& settings) {
  const InNetworkCluster& cluster = clusters_[j];
  const Bytes packet = settings.packet;
  const NodeId at = tasks_[j].task.meets_at;
  std::vector<NodeId> programs;
  for (const PlacedTask& placed : tasks_) programs.push_back(placed.task.meets_at);
  std::ranges::sort(programs);
  std::vector<std::vector<Hop>> there;
  LinkSet down;
  SimTime up, back;  // of the slowest; its program takes a packet up only
  for (const int w : cluster.workers()) {
    there.push_back(cluster.path_to_switch(w, at, site_.routes));
    up = std::max(up, time_on(there.back(), packet, programs));
    const auto returns = cluster.path_from_switch(at, w, site_.routes);
    down.add(returns);
    back = std::max(back, time_on(returns, packet, programs));
  }
  const int slots = deployment_.jobs[j].slots;
  if (slots == 0)
    throw RunError(fmt::format("slots of {}: {} for {} jobs, so job {} has none and waits for ever", fabric_.device(at).name,
                               settings.places(), std::ranges::count(programs, at), j));
  BitsPerSecond slowest{INT64_MAX};
  for (const auto& path : there)
    for (const Hop& hop : path) slowest = std::min(slowest, fabric_.link(hop.link).bandwidth);
  const Tree to_switch{j, 0, packet, window_rate(slots, packet, up + back), {slots, up + back, packet / slowest}};
  for (const auto& path : there) add(to_switch, Part::all, path, {}, up + back);
  add(to_switch, Part::all, down.hops(), {}, up + back);  // beside them: what ends early must not end before it is over
  states_[j].senders = static_cast<std::int64_t>(cluster.workers().size());
}

FlowTrees::FlowTrees(const InNetworkSite& site, const std::vector<PlacedAggregation>& jobs, SharedNetwork<FluidNetwork>& network)
    : flows_(std::make_unique<Flows>(site, jobs, network)) {}

FlowTrees::~FlowTrees() = default;

OpenJobs& FlowTrees::open_jobs() { return *flows_; }

InNetworkRun FlowTrees::result() const { return flows_->result(); }

}  // namespace weft
