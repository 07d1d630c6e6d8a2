#include "sim/in_network/flow_trees.hpp"

#include "sim/network/fluid.hpp"
#include "sim/network/shared_network.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace weft {
namespace {

constexpr const char* left_out = "left out: slow start, queues, loss and what is sent again (network \"packet\" has them)";

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

// Flows that all begin at once; each ends by itself.
class Flows final : public Driver {
 public:
  Flows(const Fabric& fabric, SharedNetwork<FluidNetwork>& network)
      : network_(network.model()), lane_(network.join(*this)), bytes_on_link_(static_cast<std::size_t>(fabric.links())) {}

  // `tail` is what comes after the flow's end until its last byte is where it is needed.
  void add(std::span<const Hop> hops, std::int64_t bytes, SimTime start, BitsPerSecond ceiling, SimTime tail) {
    if (bytes <= 0 || hops.empty()) return;
    flows_.push_back({lane_.add_route(hops, {}, {.ceiling = ceiling}), bytes, start, tail});
    for (const Hop& hop : hops) bytes_on_link_[static_cast<std::size_t>(hop.link)] += bytes;
  }

  void begin() override {
    for (std::uint32_t i = 0; i < flows_.size(); ++i) lane_.start(flows_[i].route, flows_[i].bytes, flows_[i].start, i);
  }
  void ended(std::uint32_t token) override {
    ++ended_;
    finish_ = std::max(finish_, network_.now() + flows_[token].tail);
  }
  State state() const override { return ended_ == flows_.size() ? State::finished : State::running; }
  std::string waiting() const override { return "flows of an in-network all-reduce"; }

  SimTime finish() const { return finish_; }
  const std::vector<std::int64_t>& bytes_on_link() const { return bytes_on_link_; }
  std::int64_t count() const { return static_cast<std::int64_t>(flows_.size()); }

 private:
  struct Flow {
    std::uint32_t route;
    std::int64_t bytes;
    SimTime start, tail;
  };
  FluidNetwork& network_;
  Lane<FluidNetwork>& lane_;
  std::vector<std::int64_t> bytes_on_link_;
  std::vector<Flow> flows_;
  std::size_t ended_ = 0;
  SimTime finish_;
};

// One packet, stored and sent on at every hop.
SimTime one_way(std::span<const Hop> path, const Fabric& fabric, Bytes packet) {
  SimTime out;
  for (const Hop& hop : path) out = out + fabric.link(hop.link).latency + packet / fabric.link(hop.link).bandwidth;
  return out;
}

BitsPerSecond slowest(const InNetworkJob& job) {
  BitsPerSecond out = job.fabric.link(job.cluster.up_link(job.cluster.workers().front())).bandwidth;
  for (const int e : job.cluster.workers()) out.count = std::min(out.count, job.fabric.link(job.cluster.up_link(e)).bandwidth.count);
  return out;
}

// So many packets of a flow on their way, one round trip long.
BitsPerSecond window_rate(double packets, Bytes packet, SimTime round_trip) {
  return {std::max<std::int64_t>(1, std::llround(packets * 8.0 * static_cast<double>(packet.count) / round_trip.seconds()))};
}

SimTime last_start(const InNetworkJob& job) {
  return job.starts.empty() ? SimTime{} : *std::ranges::max_element(job.starts);  // nothing is whole before
}

NetworkRun run(Flows& flows, SharedNetwork<FluidNetwork>& network) {
  run_to_end(network, Around::engine);
  NetworkRun out{.finish = flows.finish(), .bytes_on_link = flows.bytes_on_link()};
  out.messages = flows.count();
  out.events = network.model().events();
  out.solves = network.model().solves();
  return out;
}

}  // namespace

double collision_share(double in_flight, double aggregators) {
  return in_flight <= 1 ? 0 : (in_flight - 1) / (in_flight - 1 + aggregators);
}

InNetworkRun run_atp_flows(const InNetworkJob& job, const AtpChoice& choice) {
  const AtpSettings settings = settings_of(choice);
  const Bytes packet{settings.packet_bytes};
  const std::vector<ServerShare> shares = job.cluster.servers(choice.servers, job.elements);
  SharedNetwork<FluidNetwork> network(link_rates(job.fabric));
  Flows flows(job.fabric, network);

  SimTime round_trip;
  for (const ServerShare& s : shares)
    for (const int w : job.cluster.workers()) {
      const SimTime there = one_way(job.cluster.path(w, s.endpoint, job.routes), job.fabric, packet);
      const SimTime back = one_way(job.cluster.path(s.endpoint, w, job.routes), job.fabric, packet);
      round_trip = std::max(round_trip, there + back + 4 * choice.switch_delay);
    }
  const double product = static_cast<double>(slowest(job).count) * round_trip.seconds() / 8 / static_cast<double>(packet.count);
  const auto servers = static_cast<double>(shares.size());
  // Each flow has its own window, all flows of the job together what the NIC takes.
  const double in_flight =
      std::min(std::max(product, servers * settings.initial_window), servers * static_cast<double>(settings.largest_window));
  const double collided = collision_share(in_flight, settings.aggregators);
  const BitsPerSecond ceiling = window_rate(settings.largest_window, packet, round_trip);
  const SimTime start = last_start(job);

  for (const ServerShare& s : shares) {
    const std::int64_t packets = (s.values + settings.values_per_packet - 1) / settings.values_per_packet;
    const std::int64_t passed = std::llround(collided * static_cast<double>(packets));
    LinkSet up, down;
    SimTime there, back;
    for (const int w : job.cluster.workers()) {
      const auto path = job.cluster.path(w, s.endpoint, job.routes);
      up.add(path);
      there = std::max(there, one_way(path, job.fabric, packet) + 2 * choice.switch_delay);
      const auto returns = job.cluster.path(s.endpoint, w, job.routes);
      down.add(returns);
      back = std::max(back, one_way(returns, job.fabric, packet) + 2 * choice.switch_delay);
    }
    flows.add(up.hops(), (packets - passed) * packet.count, start, ceiling, there + back);
    for (const int w : job.cluster.workers())
      flows.add(job.cluster.path(w, s.endpoint, job.routes), passed * packet.count, start, ceiling, there + back);
    flows.add(down.hops(), packets * packet.count, start + there, ceiling, back);
  }
  InNetworkRun out{.network = run(flows, network), .notes = {}};
  out.notes.push_back(fmt::format("{} servers; {:.2f} % of packets expected to collide ({:.0f} in flight, {} aggregators); {}",
                                  shares.size(), 100 * collided, in_flight, settings.aggregators, left_out));
  return out;
}

// Workers of other racks reach the one switch with a packet each: nothing is added before it.
InNetworkRun run_switchml_flows(const InNetworkJob& job, const SwitchmlChoice& choice) {
  const SwitchmlSettings settings = settings_of(choice);
  const Bytes packet{settings.packet_bytes};
  const std::int64_t bytes = (job.elements + settings.values_per_packet - 1) / settings.values_per_packet * packet.count;
  const int near = job.cluster.workers().front();  // the switch is this one's
  const NodeId at = job.cluster.edge_switch(near);
  SharedNetwork<FluidNetwork> network(link_rates(job.fabric));
  Flows flows(job.fabric, network);
  std::vector<std::vector<Hop>> there;
  LinkSet down;
  SimTime longest;
  for (const int w : job.cluster.workers()) {
    std::vector<Hop> path{{job.cluster.up_link(w)}}, back{{job.cluster.down_link(w)}};
    if (job.cluster.edge_switch(w) != at) {
      path = job.cluster.path(w, near, job.routes);
      path.pop_back();
      back = job.cluster.path(near, w, job.routes);
      back.erase(back.begin());
    }
    longest = std::max(longest, one_way(path, job.fabric, packet) + choice.switch_delay);
    there.push_back(std::move(path));
    down.add(back);
  }
  const BitsPerSecond ceiling = window_rate(settings.slots, packet, 2 * longest);
  const SimTime start = last_start(job);
  for (const auto& path : there) flows.add(path, bytes, start, ceiling, 2 * longest);
  flows.add(down.hops(), bytes, start + longest, ceiling, longest);
  InNetworkRun out{.network = run(flows, network), .notes = {}};
  out.notes.push_back(fmt::format("adds up in {} with {} slots; {}", job.fabric.device(at).name, settings.slots, left_out));
  return out;
}

}  // namespace weft
