// The flows of in-network jobs on the flow network: which are under way, and when rounds end.
#pragma once

#include "sim/in_network/cluster.hpp"
#include "sim/in_network/collisions.hpp"
#include "sim/in_network/flow_trees.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace weft {

// The flows of all jobs. A job's next iteration begins when the last flow of the one before has ended. A round of an open job goes on its
// way when its last worker has begun it, each of its flows as soon as that of the round before has ended.
class FlowTrees::Flows final : public Driver, public OpenJobs {
 public:
  Flows(const InNetworkSite& site, const std::vector<PlacedAggregation>& jobs, SharedNetwork<FluidNetwork>& network);

  void begin() override {
    for (std::size_t j = 0; j < jobs_.size(); ++j)
      if (!jobs_[j].owner) announce(j, jobs_[j].first_start(), states_[j].last_start);
  }
  void ended(std::uint32_t token) override {
    if (token < flows_.size()) return flow_ended(token);
    const std::size_t j = token - flows_.size();
    if (j < jobs_.size()) return begin_iteration(j);
    const std::size_t open = j - jobs_.size();
    for (std::size_t w = 0; w < jobs_[open].workers.size(); ++w) jobs_[open].owner->round_ended(static_cast<int>(w));
  }
  State state() const override {
    if (finished_ < repeated_) return State::running;
    State out = State::finished;
    for (const PlacedAggregation& job : jobs_)
      if (job.owner)
        if (const State of_owner = job.owner->owner_state(); of_owner == State::running || out == State::finished) out = of_owner;
    return out;
  }
  std::string waiting() const override { return finished_ < repeated_ ? "flows of an in-network all-reduce" : ""; }

  void begin_round(std::size_t j, int worker, std::int64_t elements) override {
    JobState& state = states_[j];
    const std::int64_t number = state.begun_by[static_cast<std::size_t>(worker)]++;
    if (number == state.first_round + static_cast<std::int64_t>(state.rounds.size())) state.rounds.push_back({.elements = elements});
    Round& round = state.rounds[static_cast<std::size_t>(number - state.first_round)];
    if (++round.joined == jobs_[j].workers.size()) send_round(j, round, number);
  }
  bool stuck() const override { return false; }

  InNetworkRun result() const;

 private:
  static SimTime rounded_ps(double ps) { return ps < 0x1p63 ? SimTime{std::llround(ps)} : SimTime::never(); }

  // Of a flow's packets those that do not collide, or that do, or all.
  enum class Part { added, passed, all };
  struct Send {  // of a round
    std::int64_t round, bytes;
    SimTime at;  // not before; once it is under way, when it began
  };
  // So many packets at most are on their way, each for a round trip, and take this each where the links let them go one behind the other.
  // As a flow they go at a rate cap of one window in a round trip; but those of the last window need not wait for a round trip: they end as
  // long before that as is left of it. None where no packet waits for such a window.
  struct Window {
    std::int64_t packets = 0;
    SimTime round_trip = {}, each = {};

    SimTime ends_early(std::int64_t sent, SimTime took) const {
      constexpr double binding = 0.99;
      if (packets == 0 || sent == 0) return {};
      const double idle = (round_trip - packets * each).seconds(),
                   at_rate_cap = static_cast<double>(sent) / static_cast<double>(packets) * round_trip.seconds();
      if (idle <= 0 || took.seconds() * binding > at_rate_cap) return {};
      return rounded_ps(idle * static_cast<double>((sent - 1) % packets + 1) / static_cast<double>(packets) * 1e12);
    }
  };
  struct Flow {
    std::size_t job, server;  // which of the job's
    Part part;
    Bytes packet;
    std::vector<Hop> hops;
    std::uint32_t route;
    SimTime offset, tail;  // after the start; until its last byte is where it is needed
    Window window = {};
    std::deque<Send> sends = {};  // the first is under way
    std::int64_t carried = 0;     // bytes on the wire, of all iterations

    std::int64_t bytes(std::int64_t packets, double collided) const {
      const std::int64_t passed = std::llround(collided * static_cast<double>(packets));
      return packet.count * (part == Part::added ? packets - passed : part == Part::passed ? passed : packets);
    }
  };
  struct Round {
    std::int64_t elements = 0, packets = 0;
    std::size_t joined = 0;  // workers
    bool on_its_way = false;
    std::size_t running = 0;  // flows that have not ended
    SimTime end = {};
  };
  struct JobState {
    std::vector<std::uint32_t> flows = {};
    SimTime last_start = {};
    std::vector<Iteration> iterations = {};   // but for an open job
    std::deque<Round> rounds = {};            // that some worker has begun and that are on their way
    std::int64_t first_round = 0;             // the number of the first of them
    std::vector<std::int64_t> begun_by = {};  // by worker, of an open job
    std::int64_t packets = 0;                 // of the message, in all rounds
    std::int64_t senders = 0;                 // of each
    bool collides = false;                    // packets find others in their place
    double forwarded = 0;                     // of packets, whatever the switches have room for
    AtpLoad load = {};
    std::vector<NodeId> switches = {};  // with its aggregators, sorted
    SimTime least = {};                 // that its latest round takes
    SimTime round_trip = {};
    SimTime windows_end = {};              // of what is on its way: when its windows have been sent, as long as packets collide
    SimTime last_end = {};                 // of rounds
    SimTime announced = SimTime::never();  // of the next iteration, until it is on its way
    std::vector<bool> one_sum = {};        // by server of ATP: packets that do not collide come as one sum of all workers
    double whole = 0;                      // of the packets, those that do
  };

  // A flow of the job to and from a server.
  struct Tree {
    std::size_t job, server;
    Bytes packet;
    BitsPerSecond rate_cap;
    Window window = {};
  };
  void add(const Tree& tree, Part part, std::span<const Hop> hops, SimTime offset, SimTime tail) {
    if (hops.empty()) return;
    BitsPerSecond rate_cap = tree.rate_cap;
    rate_cap.count = std::max<std::int64_t>(1, std::llround(static_cast<double>(rate_cap.count) * site_.wire_share));
    states_[tree.job].flows.push_back(static_cast<std::uint32_t>(flows_.size()));
    const std::uint32_t route = lane_.add_route(with_pipelines(hops), {}, {.rate_cap = rate_cap});
    flows_.push_back({tree.job, tree.server, part, tree.packet, {hops.begin(), hops.end()}, route, offset, tail, tree.window});
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
    states_[j].iterations.push_back({first, last});
    states_[j].announced = last;
    lane_.wake(last, static_cast<std::uint32_t>(flows_.size() + j));
  }
  void begin_iteration(std::size_t j) {
    JobState& state = states_[j];
    state.announced = SimTime::never();
    state.rounds.push_back({.elements = jobs_[j].elements});
    send_round(j, state.rounds.front(), state.first_round);
  }
  void end_iteration(std::size_t j, SimTime end) {
    std::vector<Iteration>& iterations = states_[j].iterations;
    iterations.back().end = end;
    if (iterations.size() == static_cast<std::size_t>(jobs_[j].repetition.iterations)) {
      ++finished_;
      return;
    }
    announce(j, end + jobs_[j].repetition.compute, end + jobs_[j].repetition.compute);
  }

  std::int64_t packets_of(const Round& round, std::size_t j, std::size_t server) const {
    const Bytes payload = payload_of(tasks_[j].task.settings);
    const auto servers = static_cast<std::int64_t>(std::max<std::size_t>(tasks_[j].servers.size(), 1));
    const std::int64_t each = payload.count / 4, values = share_of_server(round.elements, static_cast<std::int64_t>(server), servers).count;
    return (values + each - 1) / each;
  }

  // Packets of all rounds that are on their way.
  std::int64_t under_way(std::size_t j) const {
    std::int64_t out = 0;
    for (const Round& round : states_[j].rounds)
      if (round.on_its_way) out += round.packets;
    return out;
  }

  void send_round(std::size_t j, Round& round, std::int64_t number) {
    JobState& state = states_[j];
    std::int64_t packets = 0, one_sum = 0;
    for (std::size_t s = 0; s < std::max<std::size_t>(tasks_[j].servers.size(), 1); ++s) {
      packets += packets_of(round, j, s);
      if (state.collides && state.one_sum[s]) one_sum += packets_of(round, j, s);
    }
    if (state.collides) state.least = rounded_ps(static_cast<double>(packets) / state.load.packets_per_second * 1e12);
    state.packets += packets;
    round.packets = packets;
    round.on_its_way = true;
    round.end = network_.now();
    const SimTime overhead = jobs_[j].owner ? SimTime{} : site_.hardware.send_overhead;
    double collided = 0;
    if (state.collides && !state.switches.empty()) {
      const AtpCollisions met = collisions_of(j);
      collided = 1 - (1 - met.share) * (1 - state.forwarded);
      state.windows_end = std::max(state.windows_end, network_.now() + overhead);
      if (met.share > 0) {
        state.windows_end = state.windows_end + rounded_ps(static_cast<double>(packets) * met.seconds_per_packet * 1e12);
        round.end = state.windows_end + state.round_trip + (jobs_[j].owner ? SimTime{} : site_.hardware.receive_overhead);
      }
    }
    state.whole += (1 - collided) * static_cast<double>(one_sum);
    for (const std::uint32_t f : state.flows) {
      Flow& flow = flows_[f];
      const std::int64_t bytes = flow.bytes(packets_of(round, j, flow.server), collided);
      if (bytes == 0) continue;
      ++round.running;
      flow.carried += bytes;
      flow.sends.push_back({number, bytes, network_.now() + overhead + flow.offset});
      if (flow.sends.size() == 1) start(f);
    }
    end_rounds(j);
  }
  void start(std::uint32_t f) {
    Send& send = flows_[f].sends.front();
    send.at = std::max(network_.now(), send.at);
    lane_.start(flows_[f].route, std::llround(static_cast<double>(send.bytes) * site_.wire_share), send.at, f);
  }
  void flow_ended(std::uint32_t f) {
    Flow& flow = flows_[f];
    JobState& state = states_[flow.job];
    Round& round = state.rounds[static_cast<std::size_t>(flow.sends.front().round - state.first_round)];
    const SimTime overhead = jobs_[flow.job].owner ? SimTime{} : site_.hardware.receive_overhead;
    const Send& send = flow.sends.front();
    const SimTime early = flow.window.ends_early(send.bytes / flow.packet.count, network_.now() - send.at);
    round.end = std::max(round.end, network_.now() + flow.tail + overhead - early);
    --round.running;
    flow.sends.pop_front();
    if (!flow.sends.empty()) start(f);
    end_rounds(flow.job);
  }
  // In their order, those whose flows have ended.
  void end_rounds(std::size_t j) {
    JobState& state = states_[j];
    while (!state.rounds.empty() && state.rounds.front().on_its_way && state.rounds.front().running == 0) {
      state.last_end = std::max(state.last_end, state.rounds.front().end);
      state.rounds.pop_front();
      ++state.first_round;
      if (!jobs_[j].owner) return end_iteration(j, state.last_end);
      lane_.wake(state.last_end, static_cast<std::uint32_t>(flows_.size() + jobs_.size() + j));
    }
  }

  static bool meet(const JobState& a, const JobState& b);
  AtpCollisions collisions_of(std::size_t j);
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
  const std::vector<PlacedAggregation>& jobs_;
  std::vector<InNetworkCluster> clusters_;
  std::vector<PlacedTask> tasks_;  // by job
  std::vector<NodeId> programmable_;
  InNetworkDeployment deployment_;
  std::vector<JobState> states_;  // by job
  std::vector<Flow> flows_;
  std::vector<AtpLoad> loads_;  // the latest, and what becomes of them
  std::vector<AtpCollisions> collisions_;
  std::map<NodeId, LinkId> pipelines_;  // by switch whose program handles so many packets a second
  std::map<NodeId, LinkId> hosts_;
  InNetworkSummary summary_;                 // but for what is known after the run
  std::size_t repeated_ = 0, finished_ = 0;  // jobs that are not open; of them
};

}  // namespace weft
