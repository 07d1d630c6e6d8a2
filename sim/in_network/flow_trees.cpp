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
  Flows(const InNetworkCase& all, SharedNetwork<FluidNetwork>& network)
      : network_(network.model()),
        lane_(network.join(*this)),
        bytes_on_link_(static_cast<std::size_t>(all.fabric.links())),
        finish_(all.tenants.size()) {}

  // `tail` is what comes after the flow's end until its last byte is where it is needed.
  void add(std::size_t tenant, std::span<const Hop> hops, std::int64_t bytes, SimTime start, BitsPerSecond ceiling, SimTime tail) {
    if (bytes <= 0 || hops.empty()) return;
    flows_.push_back({lane_.add_route(hops, {}, {.ceiling = ceiling}), bytes, start, tail, tenant});
    for (const Hop& hop : hops) bytes_on_link_[static_cast<std::size_t>(hop.link)] += bytes;
  }

  void begin() override {
    for (std::uint32_t i = 0; i < flows_.size(); ++i) lane_.start(flows_[i].route, flows_[i].bytes, flows_[i].start, i);
  }
  void ended(std::uint32_t token) override {
    ++ended_;
    SimTime& finish = finish_[flows_[token].tenant];
    finish = std::max(finish, network_.now() + flows_[token].tail);
  }
  State state() const override { return ended_ == flows_.size() ? State::finished : State::running; }
  std::string waiting() const override { return "flows of an in-network all-reduce"; }

  const std::vector<SimTime>& finish() const { return finish_; }  // by tenant
  const std::vector<std::int64_t>& bytes_on_link() const { return bytes_on_link_; }
  std::int64_t count() const { return static_cast<std::int64_t>(flows_.size()); }

 private:
  struct Flow {
    std::uint32_t route;
    std::int64_t bytes;
    SimTime start, tail;
    std::size_t tenant;
  };
  FluidNetwork& network_;
  Lane<FluidNetwork>& lane_;
  std::vector<std::int64_t> bytes_on_link_;
  std::vector<Flow> flows_;
  std::size_t ended_ = 0;
  std::vector<SimTime> finish_;
};

// One packet, stored and sent on at every hop.
SimTime one_way(std::span<const Hop> path, const Fabric& fabric, Bytes packet) {
  SimTime out;
  for (const Hop& hop : path) out = out + fabric.link(hop.link).latency + packet / fabric.link(hop.link).bandwidth;
  return out;
}

BitsPerSecond slowest(const InNetworkCluster& cluster, const Fabric& fabric) {
  BitsPerSecond out = fabric.link(cluster.up_link(cluster.workers().front())).bandwidth;
  for (const int e : cluster.workers()) out.count = std::min(out.count, fabric.link(cluster.up_link(e)).bandwidth.count);
  return out;
}

// So many packets of a flow on their way, one round trip long.
BitsPerSecond window_rate(double packets, Bytes packet, SimTime round_trip) {
  return {std::max<std::int64_t>(1, std::llround(packets * 8.0 * static_cast<double>(packet.count) / round_trip.seconds()))};
}

SimTime last_start(const InNetworkTenant& tenant) {
  return tenant.starts.empty() ? SimTime{} : *std::ranges::max_element(tenant.starts);  // nothing is whole before
}

InNetworkRun run(Flows& flows, SharedNetwork<FluidNetwork>& network, Around around) {
  run_to_end(network, around);
  InNetworkRun out{.network = {.finish = *std::ranges::max_element(flows.finish()), .bytes_on_link = flows.bytes_on_link()},
                   .finish = flows.finish()};
  out.network.messages = flows.count();
  out.network.events = network.model().events();
  out.network.solves = network.model().solves();
  return out;
}

// The longest way there and back between a worker and its server.
SimTime round_trip_of(const InNetworkCluster& cluster, const std::vector<ServerShare>& shares, const InNetworkCase& all, Bytes packet) {
  SimTime out;
  for (const ServerShare& s : shares)
    for (const int w : cluster.workers())
      out = std::max(out, one_way(cluster.path(w, s.endpoint, all.routes), all.fabric, packet) +
                              one_way(cluster.path(s.endpoint, w, all.routes), all.fabric, packet));
  return out;
}

}  // namespace

double collision_share(double in_flight, double aggregators) {
  return in_flight <= 1 ? 0 : (in_flight - 1) / (in_flight - 1 + aggregators);
}

InNetworkRun run_atp_flows(const InNetworkCase& all, const AtpChoice& choice) {
  const AtpSettings settings = settings_of(choice);
  const Bytes packet{settings.packet_bytes};
  SharedNetwork<FluidNetwork> network(link_rates(all.fabric));
  Flows flows(all, network);

  // Each flow has its own window, all flows of a job together what the NIC takes. All jobs share the aggregators.
  std::vector<std::vector<ServerShare>> shares;
  std::vector<SimTime> round_trips;
  double in_flight = 0;
  std::size_t servers = 0;
  for (std::size_t t = 0; t < all.tenants.size(); ++t) {
    const InNetworkCluster& cluster = all.clusters[t];
    shares.push_back(cluster.servers(choice.servers, all.tenants[t].elements));
    round_trips.push_back(round_trip_of(cluster, shares[t], all, packet) + 4 * choice.switch_delay);
    const double product =
        static_cast<double>(slowest(cluster, all.fabric).count) * round_trips[t].seconds() / 8 / static_cast<double>(packet.count);
    const auto count = static_cast<double>(shares[t].size());
    in_flight += std::min(std::max(product, count * settings.initial_window), count * static_cast<double>(settings.largest_window));
    servers += shares[t].size();
  }
  const double collided = collision_share(in_flight, settings.aggregators);

  for (std::size_t t = 0; t < all.tenants.size(); ++t) {
    const InNetworkCluster& cluster = all.clusters[t];
    const BitsPerSecond ceiling = window_rate(settings.largest_window, packet, round_trips[t]);
    const SimTime start = last_start(all.tenants[t]);
    for (const ServerShare& s : shares[t]) {
      const std::int64_t packets = (s.values + settings.values_per_packet - 1) / settings.values_per_packet;
      const std::int64_t passed = std::llround(collided * static_cast<double>(packets));
      LinkSet up, down;
      SimTime there, back;
      for (const int w : cluster.workers()) {
        const auto path = cluster.path(w, s.endpoint, all.routes);
        up.add(path);
        there = std::max(there, one_way(path, all.fabric, packet) + 2 * choice.switch_delay);
        const auto returns = cluster.path(s.endpoint, w, all.routes);
        down.add(returns);
        back = std::max(back, one_way(returns, all.fabric, packet) + 2 * choice.switch_delay);
      }
      flows.add(t, up.hops(), (packets - passed) * packet.count, start, ceiling, there + back);
      for (const int w : cluster.workers())
        flows.add(t, cluster.path(w, s.endpoint, all.routes), passed * packet.count, start, ceiling, there + back);
      flows.add(t, down.hops(), packets * packet.count, start + there, ceiling, back);
    }
  }
  InNetworkRun out = run(flows, network, all.around);
  out.notes.push_back(fmt::format("{} servers; {:.2f} % of packets expected to collide ({:.0f} in flight, {} aggregators); {}", servers,
                                  100 * collided, in_flight, settings.aggregators, left_out));
  return out;
}

// Workers of other racks reach the one switch with a packet each: nothing is added before it.
InNetworkRun run_switchml_flows(const InNetworkCase& all, const SwitchmlChoice& choice) {
  const SwitchmlSettings settings = settings_of(choice);
  const Bytes packet{settings.packet_bytes};
  SharedNetwork<FluidNetwork> network(link_rates(all.fabric));
  Flows flows(all, network);
  std::vector<NodeId> switches;
  for (const InNetworkCluster& cluster : all.clusters) switches.push_back(cluster.edge_switch(cluster.workers().front()));
  std::vector<std::string> notes;
  for (std::size_t t = 0; t < all.tenants.size(); ++t) {
    const InNetworkCluster& cluster = all.clusters[t];
    const std::int64_t packets = (all.tenants[t].elements + settings.values_per_packet - 1) / settings.values_per_packet;
    const int near = cluster.workers().front();  // the switch is this one's
    std::vector<std::vector<Hop>> there;
    LinkSet down;
    SimTime longest;
    for (const int w : cluster.workers()) {
      std::vector<Hop> path{{cluster.up_link(w)}}, back{{cluster.down_link(w)}};
      if (cluster.edge_switch(w) != switches[t]) {
        path = cluster.path(w, near, all.routes);
        path.pop_back();
        back = cluster.path(near, w, all.routes);
        back.erase(back.begin());
      }
      longest = std::max(longest, one_way(path, all.fabric, packet) + choice.switch_delay);
      there.push_back(std::move(path));
      down.add(back);
    }
    const int slots = settings.slots / static_cast<int>(std::ranges::count(switches, switches[t]));
    const BitsPerSecond ceiling = window_rate(slots, packet, 2 * longest);
    const SimTime start = last_start(all.tenants[t]);
    for (const auto& path : there) flows.add(t, path, packets * packet.count, start, ceiling, 2 * longest);
    flows.add(t, down.hops(), packets * packet.count, start + longest, ceiling, longest);
    notes.push_back(fmt::format("{}adds up in {} with {} slots; {}", all.tenants.size() > 1 ? fmt::format("job {} ", t) : "",
                                all.fabric.device(switches[t]).name, slots, left_out));
  }
  InNetworkRun out = run(flows, network, all.around);
  out.notes = std::move(notes);
  return out;
}

}  // namespace weft
