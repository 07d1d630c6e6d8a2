// Servers on a network: closed forms, and agreement with SimGrid's own model where weights are equal.
#include "collectives/registry/registry.hpp"
#include "models/server/server_fabric.hpp"
#include "sim/engine/in_child.hpp"
#include "sim/flow/flow_network.hpp"
#include "sim/flow/goodput.hpp"
#include "sim/reference/s4u_network.hpp"

#include <cstring>
#include <numeric>

#include <doctest/doctest.h>

using namespace weft;

namespace {

const FabricSpec two_on_a_star = Star{.nodes = 2, .host_link = {100_Gbps, 500_ns}};
const HardwareProfile ideal_hardware;

Server with_policy(const char* preset, PeerPolicy policy) {
  Server s = server_preset(preset);
  s.policy = policy;
  return s;
}

struct Setup {
  Setup(const FabricSpec& spec, const Server& server, const Schedule& s, std::int64_t bytes)
      : fabric(build(spec, server)), schedule(s), placement(static_cast<std::size_t>(s.ranks)), routes(*fabric, {}), elements(bytes / 4) {
    std::iota(placement.begin(), placement.end(), 0);
  }
  NetworkRun flow() { return run_flow_bare({schedule, placement, elements, 4, ideal_hardware}, *fabric, routes); }
  NetworkRun simgrid() { return run_s4u(PlacedSchedule{schedule, placement, elements, 4, ideal_hardware}, routes); }

  std::unique_ptr<Fabric> fabric;
  Schedule schedule;
  std::vector<int> placement;
  Routes routes;
  std::int64_t elements;
};

// Every rank sends its chunk to the rank `distance` further on, at once.
Schedule shift(int ranks, int distance) {
  Schedule s{.name = "shift", .collective = Collective::alltoall, .ranks = ranks, .chunks = 1};
  Step& step = s.add_step();
  for (int r = 0; r < ranks; ++r) step.copy({.from = r, .to = mod(r + distance, ranks), .chunk = 0});
  return s;
}

double seconds_of(const Server& server, const Schedule& schedule, std::int64_t bytes) {
  return Setup(two_on_a_star, server, schedule, bytes).flow().finish.seconds();
}

constexpr std::int64_t mib = 1 << 20;

}  // namespace

TEST_CASE("servers: GPUs that share a NIC take turns on its cable, and those across the sockets come last") {
  // 64 MiB over 100 Gb/s; 2 x 300 ns inside the servers and 2 x 500 ns of cable
  const double alone = 64.0 * mib * 8 / 100e9 + 1.6e-6;
  CHECK(seconds_of(server_preset("congestionless"), shift(8, 4), 64 * mib) == doctest::Approx(alone).epsilon(1e-6));
  CHECK(seconds_of(server_preset("two_nic"), shift(8, 4), 64 * mib) == doctest::Approx(2 * alone).epsilon(1e-4));
  // One NIC: the two GPUs next to it weigh 1, the two across the sockets 300/1200 x 0.5 = 1/8. While the first two send they have
  // 1/2.25 of the cable each; after that the others have 7/8 left, for which the link between the sockets gives 80 Gb/s where it
  // loses nothing, and its rate for NICs where it does.
  Server plain = server_preset("single_nic");
  const double nic_rate = static_cast<double>(plain.links.front().contention.nic_rate.count);
  CHECK(seconds_of(plain, shift(8, 4), 64 * mib) == doctest::Approx((2.25 + 2 * 0.875 * 100e9 / nic_rate) * alone).epsilon(1e-3));
  plain.links.front().contention = {};
  CHECK(seconds_of(plain, shift(8, 4), 64 * mib) == doctest::Approx((2.25 + 2 * 0.875 * 100 / 80) * alone).epsilon(1e-3));
}

TEST_CASE("servers: GPUs that exchange messages across the sockets have two_way_rate / n a direction, one way the whole link") {
  Server s = with_policy("two_nic", PeerPolicy::pcie_upi);
  s.links.front().contention = {.nic_rate = {}, .two_way_rate = 16_Gbps};
  // One server: 0 -> 2, 1 -> 3, 2 -> 0, 3 -> 1 cross: n = 4, 4 Gb/s a direction, 2 Gb/s a flow.
  const auto one_server = [&](const Schedule& schedule) {
    return Setup(Star{.nodes = 1, .host_link = {100_Gbps, 500_ns}}, s, schedule, 64 * mib).flow().finish.seconds();
  };
  CHECK(one_server(shift(4, 2)) == doctest::Approx(64.0 * mib * 8 / 2e9).epsilon(1e-4));
  // 0 -> 1 and 2 -> 3 stay below their switches; 1 -> 2 and 3 -> 0 cross: n = 2, 8 Gb/s each.
  CHECK(one_server(shift(4, 1)) == doctest::Approx(64.0 * mib * 8 / 8e9).epsilon(1e-4));
  Schedule there{.name = "two messages one way", .collective = Collective::broadcast, .ranks = 4};
  Step& step = there.add_step();
  step.copy({.from = 0, .to = 2, .chunk = 0});
  step.copy({.from = 1, .to = 3, .chunk = 0});
  CHECK(one_server(there) == doctest::Approx(2 * 64.0 * mib / 10e9).epsilon(1e-4));
}

TEST_CASE("servers: GPUs that exchange messages over a link have its duplex rate, and one message that crosses it twice") {
  Server s = with_policy("two_nic", PeerPolicy::pcie_upi);
  s.links.front().contention = {.nic_rate = {}, .two_way_rate = {}, .duplex_rate = 4_Gbps};
  const auto one_server = [&](const Schedule& schedule) {
    return Setup(Star{.nodes = 1, .host_link = {100_Gbps, 500_ns}}, s, schedule, 64 * mib).flow().finish.seconds();
  };
  // 0 -> 2, 1 -> 3 and 2 -> 0, 3 -> 1: two flows a direction share 4 Gb/s.
  CHECK(one_server(shift(4, 2)) == doctest::Approx(64.0 * mib * 8 / 2e9).epsilon(1e-4));
  // Through host memory from GPU 0 to its neighbour: up to the socket and down again over one link.
  s.policy = PeerPolicy::host;
  for (ServerLink& link : s.links) link.contention = {.nic_rate = {}, .two_way_rate = {}, .duplex_rate = 8_Gbps};
  Schedule copy{.name = "one message", .collective = Collective::broadcast, .ranks = 4};
  copy.add_step().copy({.from = 0, .to = 1, .chunk = 0});
  CHECK(one_server(copy) == doctest::Approx(64.0 * mib * 8 / 8e9).epsilon(1e-4));
}

TEST_CASE("servers: a NIC's link has its rate one way, and its duplex rate while GPUs send and receive over it") {
  Server s = server_preset("congestionless");
  for (ServerLink& link : s.links)
    if (link.from.starts_with("nic") || link.to.starts_with("nic")) link.contention = {.nic_duplex_rate = 40_Gbps};
  CHECK(seconds_of(s, shift(8, 4), 64 * mib) == doctest::Approx(64.0 * mib * 8 / 40e9).epsilon(1e-3));
  Schedule there{.name = "one way", .collective = Collective::broadcast, .ranks = 8};
  Step& step = there.add_step();
  for (int r = 0; r < 4; ++r) step.copy({.from = r, .to = 4 + r, .chunk = 0});
  CHECK(seconds_of(s, there, 64 * mib) == doctest::Approx(64.0 * mib * 8 / 100e9).epsilon(1e-3));
}

TEST_CASE("servers: between sockets a flow alone gets its rate cap or the link between sockets, whichever is less") {
  Schedule s{.name = "one message", .collective = Collective::broadcast, .ranks = 4};
  s.add_step().copy({.from = 0, .to = 2, .chunk = 0});
  // 150 + 200 + 500 + 200 + 150 ns; 10 GB/s are less than the 84.3 Gb/s that packets of 64 bytes carry
  CHECK(seconds_of(with_policy("two_nic", PeerPolicy::pcie_upi), s, 64 * mib) == doctest::Approx(64.0 * mib / 10e9 + 1.2e-6).epsilon(1e-6));
  Server fast = with_policy("two_nic", PeerPolicy::pcie_upi);
  fast.links.front().bandwidth = 40_GBps;
  const double rate_cap = static_cast<double>(pcie_rate({.generation = 3, .width = 16, .max_payload = 64}).count);
  CHECK(seconds_of(fast, s, 64 * mib) == doctest::Approx(64.0 * mib * 8 / rate_cap + 1.2e-6).epsilon(1e-6));
}

TEST_CASE("servers: messages inside a server leave it under the policy nic, at the rate of the wire") {
  Schedule s{.name = "one message", .collective = Collective::broadcast, .ranks = 4};
  s.add_step().copy({.from = 0, .to = 2, .chunk = 0});
  CHECK(seconds_of(server_preset("congestionless"), s, 64 * mib) == doctest::Approx(64.0 * mib * 8 / 100e9 + 1.6e-6).epsilon(1e-6));
}

TEST_CASE("servers: wire efficiency is for wires, not for PCIe") {
  HardwareProfile half;
  half.wire_efficiency = 0.5;
  const auto fabric = build(two_on_a_star, server_preset("two_nic"));
  const auto rates = goodput_of_links(*fabric, half);
  for (LinkId id = 0; id < fabric->links(); ++id) {
    CAPTURE(fabric->link_name(id));
    CHECK(rates[static_cast<std::size_t>(id)].count == fabric->link(id).bandwidth.count / (fabric->link(id).in_server ? 1 : 2));
  }
}

TEST_CASE("servers: flow and SimGrid's own network agree, with weights, rate caps and links that lose rate under load") {
  for (const Server& server : {with_policy("congestionless", PeerPolicy::nic), server_preset("dgx_a100"), server_preset("single_nic"),
                               with_policy("two_nic", PeerPolicy::pcie_upi), with_policy("congestionless", PeerPolicy::pcie_upi)})
    for (const char* algorithm : {"ring", "halving_doubling", "direct"}) {
      CAPTURE(server.preset);
      CAPTURE(algorithm);
      const Schedule schedule = build(Request{.algorithm = algorithm, .ranks = 2 * server.gpu_count()});
      Setup setup(two_on_a_star, server, schedule, 4 * mib);
      const std::string bytes = in_child([&] {
        const double seconds = setup.simgrid().finish.seconds();
        return std::string(reinterpret_cast<const char*>(&seconds), sizeof seconds);
      });
      double seconds = 0;
      std::memcpy(&seconds, bytes.data(), sizeof seconds);
      CHECK(setup.flow().finish.seconds() == doctest::Approx(seconds).epsilon(1e-6));
    }
}
