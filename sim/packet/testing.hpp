// A fabric and messages on it, for tests of the packet network.
#pragma once

#include "models/fabric/fabric.hpp"
#include "models/fabric/routes.hpp"
#include "sim/packet/packet_network.hpp"

#include <vector>

namespace weft::test {

struct Wires {
  const Fabric& fabric;
  Routes routes;
  PacketNetwork network;
  std::vector<SimTime> ends;

  Wires(const Fabric& f, const PacketSettings& settings) : fabric(f), routes(f, Ecmp{}), network(f, full_rates(f), settings) {}

  // Messages are numbered from 0.
  void send(int from, int to, Bytes bytes, SimTime at = {}) {
    const auto route = static_cast<std::uint32_t>(routes.of(from, to));
    while (network.routes() <= route) {
      const auto next = static_cast<RouteId>(network.routes());
      network.add_route(routes.hops(next), routes.latency(next));
    }
    network.start(route, bytes.count, at, static_cast<std::uint32_t>(ends.size()));
    ends.push_back(SimTime::never());
  }
  // On a path of one's own choice; do not mix with send().
  void send_over(std::span<const Hop> hops, Bytes bytes) {
    SimTime latency;
    for (const Hop& hop : hops) latency += fabric.link(hop.link).latency;
    network.start(network.add_route(hops, latency), bytes.count, {}, static_cast<std::uint32_t>(ends.size()));
    ends.push_back(SimTime::never());
  }
  // To the last event; by message: when it ended, never() if it did not.
  std::vector<SimTime> run() {
    while (network.next_date() != SimTime::never())
      network.advance([this](std::uint32_t token) {
        check(ends[token] == SimTime::never(), "message {} ended twice", token);
        ends[token] = network.now();
      });
    return ends;
  }

  LinkId link(const std::string& name) const {
    for (LinkId id = 0; id < fabric.links(); ++id)
      if (fabric.link_name(id) == name) return id;
    throw InputError("no link " + name);
  }
  // Into an endpoint, in any one priority.
  Bytes high_water(int endpoint) const {
    Bytes most;
    for (const QueueReport& q : network.report().queues)
      if (fabric.to(q.link) == fabric.node_of(endpoint)) most = std::max(most, q.high_water);
    return most;
  }

 private:
  static std::vector<BitsPerSecond> full_rates(const Fabric& f) {
    std::vector<BitsPerSecond> rates;
    for (LinkId id = 0; id < f.links(); ++id) rates.push_back(f.link(id).bandwidth);
    return rates;
  }
};

}  // namespace weft::test
