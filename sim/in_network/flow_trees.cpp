#include "sim/in_network/flow_trees.hpp"

#include "sim/in_network/cluster.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace weft {
namespace {

constexpr const char* left_out = "slow start, queues, loss and what is sent again";

// The links of several paths, each once.
class LinkSet {
 public:
  void add(std::span<const Hop> path) {
    for (const Hop& hop : path)
      if (seen_.insert(hop.link).second) hops_.push_back(hop);
  }
  const std::vector<Hop>& hops() const { return hops_; }

 private:
  std::vector<Hop> hops_;
  std::set<LinkId> seen_;
};

SimTime rounded(double ps) { return ps < 0x1p63 ? SimTime{std::llround(ps)} : SimTime::never(); }

// So many packets of a flow on their way, one round trip long.
BitsPerSecond window_rate(double packets, Bytes packet, SimTime round_trip) {
  return {std::max<std::int64_t>(1, std::llround(packets * 8.0 * static_cast<double>(packet.count) / round_trip.seconds()))};
}

// Below switches that do not add, and where several racks' sums go on side by side, a link carries each on its own.
struct AggregationTree {
  LinkSet once;                        // links that every packet crosses once
  std::vector<std::vector<Hop>> more;  // those that it crosses again, path by path

  AggregationTree(const std::vector<std::vector<Hop>>& paths, const AtpTree& tree) {
    std::map<LinkId, int> crossed;
    std::set<int> racks;
    for (std::size_t w = 0; w < paths.size(); ++w) {
      const AtpMember& m = tree.members[w];
      const std::span<const Hop> path = paths[w];
      const bool first = m.level == 2 || racks.insert(m.rack).second;  // the others of its rack end at its switch
      const std::size_t last = m.fan_in_2 > 0 ? path.size() - 1 : path.size();
      std::vector<Hop> again;
      for (std::size_t h = 0; h < path.size(); ++h) {
        if (h > 0 && !first) break;
        const bool added = h >= last;  // at the server's switch, to one packet of all
        if (++crossed[path[h].link] > 1 && !added) again.push_back(path[h]);
      }
      once.add(first ? path : path.first(1));
      if (!again.empty()) more.push_back(std::move(again));
    }
  }
};

}  // namespace

std::vector<double> collision_shares(const std::vector<AtpLoad>& jobs, double aggregators) {
  std::vector<double> share(jobs.size(), 0.0);
  const auto held = [&](std::size_t j) {
    const AtpLoad& job = jobs[j];
    const double copies = 1 + share[j] * (job.workers - 1);  // of a packet, on the server's link
    const double most = job.window;
    if (job.uneven) return most;
    if (copies <= job.servers || share[j] < 1e-6) return std::min(most, job.packets_per_second * job.held_for);
    const double rate = job.packets_per_second * job.servers / copies;
    return std::clamp(rate * job.held_for + job.servers * job.queue / copies, 0.0, std::max(most - rate * job.elsewhere, 1.0));
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<double> in_aggregators(jobs.size());
    double all = 0;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      in_aggregators[j] = jobs[j].present * std::min(held(j) * (1 - share[j]), jobs[j].aggregators);
      if (jobs[j].aggregators == aggregators) all += in_aggregators[j];
    }
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      const bool shared = jobs[j].aggregators == aggregators;
      const double by_others = shared ? std::min(1.0, (all - in_aggregators[j]) / aggregators) : 0;
      const double turns = std::max(1.0, std::ceil(held(j) / jobs[j].aggregators - 1e-9));
      share[j] = (share[j] + 1 - (1 - by_others) / turns) / 2;
    }
  }
  return share;
}

// The flows of all jobs. A job's next iteration begins when the last flow of the one before has ended.
class FlowTrees::Flows final : public Driver {
 public:
  Flows(const InNetworkSite& site, const std::vector<InNetworkJob>& jobs, SharedNetwork<FluidNetwork>& network)
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
      states_[j].bytes.resize(static_cast<std::size_t>(fabric_.links()));
    }
    std::vector<NodeId> programs;
    for (const InNetworkDeployment::Seat& seat : deployment_.seats)
      if (seat.role == InNetworkDeployment::Role::program) programs.push_back(seat.at);
    add_pipelines(programs, packet_of(tasks_.front().task.settings));
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      const InNetworkDeployment::Job& job = deployment_.jobs[j];
      summary_.jobs.push_back({.servers = job.servers, .slots = job.slots, .packets = job.packets});
      const InNetworkSettings& own = tasks_[j].task.settings;
      for (const auto& endpoints : {jobs[j].workers, tasks_[j].servers}) add_hosts(endpoints, packet_of(own), host_of(own));
      std::visit([&](const auto& settings) { add_job(j, settings); }, own);
    }
  }

  void begin() override {
    for (std::size_t j = 0; j < jobs_.size(); ++j) announce(j, jobs_[j].first_start(), states_[j].last_start);
  }
  void ended(std::uint32_t token) override {
    if (token >= flows_.size()) return begin_iteration(token - flows_.size());
    const Flow& flow = flows_[token];
    JobState& state = states_[flow.job];
    Iteration& now = state.iterations.back();
    now.end = std::max(now.end, network_.now() + flow.tail + site_.hardware.receive_overhead);
    if (--state.running == 0) end_iteration(flow.job);
  }
  State state() const override { return finished_ == jobs_.size() ? State::finished : State::running; }
  std::string waiting() const override { return "flows of an in-network all-reduce"; }

  InNetworkRun result() const {
    InNetworkRun out{.bytes_on_link = std::vector<std::int64_t>(static_cast<std::size_t>(fabric_.links())), .summary = summary_};
    for (std::size_t j = 0; j < states_.size(); ++j) {
      const JobState& state = states_[j];
      const auto times = static_cast<std::int64_t>(state.iterations.size());
      JobInNetwork& summary = out.summary.jobs[j];
      summary.aggregated = adds_up(state) ? 1 - state.collided / static_cast<double>(times) : 0;
      InNetworkRun::OfJob& job =
          out.jobs.emplace_back(InNetworkRun::OfJob{.iterations = state.iterations, .messages = state.packets * times});
      for (LinkId id = 0; id < fabric_.links(); ++id) {
        const std::int64_t bytes = state.bytes[static_cast<std::size_t>(id)];
        out.bytes_on_link[static_cast<std::size_t>(id)] += bytes;
        if (fabric_.device(fabric_.from(id)).kind == DeviceKind::endpoint) job.most_sent = std::max(job.most_sent, bytes);
      }
    }
    return out;
  }

 private:
  // Of a flow's packets those that do not collide, or that do, or all.
  enum class Part { added, passed, all };
  struct Flow {
    std::size_t job;
    Part part;
    std::int64_t packets;
    Bytes packet;
    std::vector<Hop> hops;
    std::uint32_t route;
    SimTime offset, tail;  // after the start; until its last byte is where it is needed

    std::int64_t bytes(double collided) const {
      const std::int64_t passed = std::llround(collided * static_cast<double>(packets));
      return packet.count * (part == Part::added ? packets - passed : part == Part::passed ? passed : packets);
    }
  };
  struct JobState {
    std::vector<std::uint32_t> flows = {};
    SimTime last_start = {};
    std::vector<Iteration> iterations = {};
    std::size_t running = 0;
    std::vector<std::int64_t> bytes = {};  // on the wire, by link, of all iterations
    std::int64_t packets = 0;              // that its endpoints send in an iteration
    bool collides = false;                 // packets find others in their place
    double forwarded = 0;                  // of packets, whatever the switches have room for
    AtpLoad load = {};
    SimTime least = {};                    // that an iteration takes
    SimTime announced = SimTime::never();  // of the next iteration, until it is on its way
    double collided = 0;                   // of the packets, summed over the iterations
  };

  // Switches add at least some of the job's packets up on their way.
  bool adds_up(const JobState& state) const {
    return !state.collides || std::ranges::any_of(state.flows, [&](std::uint32_t f) { return flows_[f].part == Part::added; });
  }

  void add(std::size_t job, Part part, std::span<const Hop> hops, std::int64_t packets, Bytes packet, SimTime offset, BitsPerSecond ceiling,
           SimTime tail) {
    if (packets <= 0 || hops.empty()) return;
    ceiling.count = std::max<std::int64_t>(1, std::llround(static_cast<double>(ceiling.count) * site_.wire_share));
    states_[job].flows.push_back(static_cast<std::uint32_t>(flows_.size()));
    const std::uint32_t route = lane_.add_route(with_pipelines(hops), {}, {.ceiling = ceiling});
    flows_.push_back({job, part, packets, packet, {hops.begin(), hops.end()}, route, offset, tail});
  }

  // A switch that handles so many packets a second is one more link, of as many bytes, for each packet that comes to it.
  void add_pipelines(const std::vector<NodeId>& programs, Bytes packet) {
    if (site_.switches.packets_per_second == 0) return;
    const double bits = 8.0 * static_cast<double>(packet.count) * static_cast<double>(site_.switches.packets_per_second) * site_.wire_share;
    for (const NodeId at : programs) pipelines_[at] = network_.add_link({std::max<std::int64_t>(1, std::llround(std::min(bits, 9e18)))});
  }
  // A host that takes time for each packet is one too, for those it sends and those it receives.
  void add_hosts(const std::vector<int>& endpoints, Bytes packet, const HostCost& cost) {
    if (!cost.any()) return;
    const double seconds = cost.of(packet).seconds() + cost.jitter.seconds() / 2;
    const double bits = 8.0 * static_cast<double>(packet.count) / seconds * site_.wire_share;
    for (const int e : endpoints)
      if (const NodeId at = fabric_.node_of(e); !hosts_.contains(at))
        hosts_[at] = network_.add_link({std::max<std::int64_t>(1, std::llround(std::min(bits, 9e18)))});
  }
  std::vector<Hop> with_pipelines(std::span<const Hop> hops) const {
    std::vector<Hop> out(hops.begin(), hops.end());
    for (const Hop& hop : hops)
      for (const NodeId at : {fabric_.to(hop.link), fabric_.from(hop.link)})
        if (const auto host = hosts_.find(at); host != hosts_.end())
          out.push_back({host->second, 0});
        else if (const auto pipeline = pipelines_.find(at); pipeline != pipelines_.end() && at == fabric_.to(hop.link))
          out.push_back({pipeline->second, 0});
    return out;
  }

  // An iteration begins at `first` and is on its way from `last` on, when its last worker begins: then ended() is called.
  void announce(std::size_t j, SimTime first, SimTime last) {
    JobState& state = states_[j];
    state.iterations.push_back({first, last});
    state.announced = last;
    if (state.flows.empty()) return end_iteration(j);
    lane_.start(flows_[state.flows.front()].route, 0, last, static_cast<std::uint32_t>(flows_.size() + j));
  }
  void begin_iteration(std::size_t j) {
    JobState& state = states_[j];
    const double collided = state.collides ? 1 - (1 - share_of_collisions(j)) * (1 - state.forwarded) : 0;
    state.announced = SimTime::never();
    state.collided += collided;
    for (const std::uint32_t f : state.flows) {
      const Flow& flow = flows_[f];
      const std::int64_t bytes = flow.bytes(collided);
      if (bytes == 0) continue;
      ++state.running;
      for (const Hop& hop : flow.hops) state.bytes[static_cast<std::size_t>(hop.link)] += bytes;
      lane_.start(flow.route, std::llround(static_cast<double>(bytes) * site_.wire_share),
                  network_.now() + site_.hardware.send_overhead + flow.offset, f);
    }
  }
  void end_iteration(std::size_t j) {
    JobState& state = states_[j];
    if (state.iterations.size() == static_cast<std::size_t>(jobs_[j].repetition.iterations)) {
      ++finished_;
      return;
    }
    const SimTime next = state.iterations.back().end + jobs_[j].repetition.compute;
    announce(j, next, next);
  }

  double share_of_collisions(std::size_t j) const;
  void limit_by_pipelines(JobState& state) const;
  AtpLoad load_of(std::size_t j, const AtpSettings& settings) const;
  void add_job(std::size_t j, const AtpSettings& settings);
  void add_job(std::size_t j, const SwitchmlSettings& settings);
  SimTime time_on(const std::vector<Hop>& path, Bytes packet, const std::vector<NodeId>& programs) const {
    return one_way(path, fabric_, packet) + in_programs(path, fabric_, programs, site_.switches.delay);
  }

  const InNetworkSite& site_;
  const Fabric& fabric_;
  FluidNetwork& network_;
  Lane<FluidNetwork>& lane_;
  const std::vector<InNetworkJob>& jobs_;
  std::vector<InNetworkCluster> clusters_;
  std::vector<PlacedTask> tasks_;  // by job
  std::vector<NodeId> programmable_;
  InNetworkDeployment deployment_;
  std::vector<JobState> states_;  // by job
  std::vector<Flow> flows_;
  std::map<NodeId, LinkId> pipelines_;  // by switch whose program handles so many packets a second
  std::map<NodeId, LinkId> hosts_;
  InNetworkSummary summary_;  // but for what is known after the run
  std::size_t finished_ = 0;
};

// With whoever adds up at the same time, as far as that is known when the iteration begins: those that are running, and those that
// will begin before it can end.
double FlowTrees::Flows::share_of_collisions(std::size_t j) const {
  std::vector<AtpLoad> loads;
  for (std::size_t k = 0; k < jobs_.size(); ++k) {
    AtpLoad& load = loads.emplace_back(states_[k].load);
    if (k == j || states_[k].running > 0) continue;
    const SimTime later = states_[k].announced;
    load.present = later == SimTime::never()
                       ? 0
                       : 1 - std::min(static_cast<double>((later - network_.now()).ps) / static_cast<double>(states_[j].least.ps), 1.0);
  }
  return collision_shares(loads, summary_.places)[j];
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
  const double rate = std::min(state.load.packets_per_second, static_cast<double>(site_.switches.packets_per_second) / most);
  state.least = rounded(static_cast<double>(state.least.ps) * state.load.packets_per_second / rate);
  state.load.packets_per_second = rate;
}

AtpLoad FlowTrees::Flows::load_of(std::size_t j, const AtpSettings& settings) const {
  const Bytes packet = settings.packet;
  const std::vector<int>& servers = tasks_[j].servers;
  const AtpRoundTrip trip = atp_round_trip(clusters_[j], servers, site_, packet);
  const EcnSettings ecn = site_.ecn;
  const Bytes marked = site_.switches.mark_above;
  return {.workers = static_cast<int>(clusters_[j].workers().size()),
          .servers = static_cast<int>(servers.size()),
          .packets_per_second = trip.packets / (trip.held + trip.elsewhere).seconds(),
          .held_for = trip.held.seconds(),
          .elsewhere = trip.elsewhere.seconds(),
          .window = static_cast<double>(servers.size()) * settings.largest_window,
          .queue = ecn.on ? static_cast<double>((marked.count > 0 ? std::min(marked, ecn.min) : ecn.min).count) /
                                static_cast<double>(packet.count)
                          : HUGE_VAL,
          .aggregators = static_cast<double>(settings.split ? std::max(settings.aggregators / static_cast<int>(jobs_.size()), 1)
                                                            : settings.aggregators),
          .uneven = std::ranges::any_of(servers, [&](int at) { return std::ranges::count(clusters_[j].workers(), at) > 0; })};
}

// Each flow has its own window, all flows of a job together what the NIC takes.
void FlowTrees::Flows::add_job(std::size_t j, const AtpSettings& settings) {
  const InNetworkCluster& cluster = clusters_[j];
  const Bytes packet = settings.packet;
  states_[j].collides = true;
  states_[j].forwarded = settings.forwarded;
  states_[j].load = load_of(j, settings);
  const std::vector<AtpFlow> flows = atp_flows({&tasks_[j].task, 1}, programmable_);
  for (std::size_t f = 0; f < flows.size(); ++f) {
    const std::int64_t packets = flows[f].packets;
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
    const AtpTree& tree = flows[f].tree;
    const AggregationTree up(paths, tree);
    const BitsPerSecond ceiling = window_rate(settings.largest_window, packet, there + back);
    // Where nothing aggregates there is nothing to collide in.
    const Part part = std::ranges::all_of(tree.members, [](const AtpMember& m) { return m.edge == 2; }) ? Part::all : Part::added;
    add(j, part, up.once.hops(), packets, packet, {}, ceiling, there + back);
    for (const auto& again : up.more) add(j, part, again, packets, packet, {}, ceiling, there + back);
    if (part == Part::added)
      for (const auto& path : paths) add(j, Part::passed, path, packets, packet, {}, ceiling, there + back);
    add(j, Part::all, down.hops(), packets, packet, there, ceiling, back);
    states_[j].least += rounded(static_cast<double>(packets) / states_[j].load.packets_per_second * 1e12);
    states_[j].packets += packets * (static_cast<std::int64_t>(cluster.workers().size()) + 1);
  }
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
  const std::int64_t packets = deployment_.jobs[j].packets / tasks_[j].task.rounds;
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
                               settings.slots, std::ranges::count(programs, at), j));
  const BitsPerSecond ceiling = window_rate(slots, packet, up + back);
  for (const auto& path : there) add(j, Part::all, path, packets, packet, {}, ceiling, up + back);
  add(j, Part::all, down.hops(), packets, packet, up, ceiling, back);
  states_[j].packets = packets * static_cast<std::int64_t>(cluster.workers().size());
}

FlowTrees::FlowTrees(const InNetworkSite& site, const std::vector<InNetworkJob>& jobs, SharedNetwork<FluidNetwork>& network)
    : flows_(std::make_unique<Flows>(site, jobs, network)) {}

FlowTrees::~FlowTrees() = default;

InNetworkRun FlowTrees::result() const { return flows_->result(); }

}  // namespace weft
