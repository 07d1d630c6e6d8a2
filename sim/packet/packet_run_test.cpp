#include "sim/packet/packet_run.hpp"

#include "collectives/algorithms/direct.hpp"
#include "collectives/algorithms/ring.hpp"
#include "collectives/registry/registry.hpp"
#include "models/fabric/bigraph.hpp"
#include "models/fabric/fabric_test.hpp"
#include "models/fabric/star.hpp"
#include "models/server/server_fabric.hpp"
#include "sim/flow/flow_network.hpp"

#include <cmath>
#include <numeric>

#include <doctest/doctest.h>

using namespace weft;
using weft::test::link_100g;

namespace {

struct Both {
  NetworkRun packet, flow;
  PacketReport report;
  double ratio() const { return packet.finish.seconds() / flow.finish.seconds(); }
};

Both run(const Schedule& schedule, const Fabric& fabric, Bytes message, const PacketSettings& settings = {},
         const HardwareProfile& hardware = {}) {
  std::vector<int> linear(static_cast<std::size_t>(schedule.ranks));
  std::iota(linear.begin(), linear.end(), 0);
  Routes routes(fabric, Ecmp{});
  const PlacedSchedule job{schedule, linear, message.count / 4, 4, hardware, {}};
  Both both;
  both.packet = run_packet_bare(job, fabric, routes, settings, nullptr, &both.report);
  both.flow = run_flow_bare(job, fabric, routes);
  return both;
}

}  // namespace

TEST_CASE("packet: ring takes the time of the flow model and the headers at each switch") {
  const auto star = build(Star{.nodes = 16, .host_link = link_100g});
  const Both both = run(ring_allreduce(16), *star, 16_MiB);
  // 30 steps, 64 bytes at 100 Gb/s each.
  CHECK(both.packet.finish == both.flow.finish + 30 * (64_B / 100_Gbps));
  CHECK(both.packet.messages == both.flow.messages);
  CHECK(both.packet.bytes_on_link == both.flow.bytes_on_link);
  CHECK(both.report.queues.empty());
}

TEST_CASE("packet: uncongested ring and HDRM are within a tenth of the flow model, whatever the packets and the transport") {
  const auto bigraph = build(BiGraph{.switches = 8, .nodes_per_switch = 4, .host_link = link_100g, .fabric_link = link_100g});
  const Schedule hdrm = build(Request{.algorithm = "hdrm", .ranks = 32, .bigraph = BiGraphShape{8, 4}});
  for (const Bytes packet : {1_KiB, 4_KiB, 64_KiB})
    for (const PacketTransport transport :
         {PacketTransport::rdma, PacketTransport::dcqcn, PacketTransport::dctcp, PacketTransport::fixed_window}) {
      CAPTURE(packet.count);
      CAPTURE(name_of(transport));
      const PacketSettings settings{.packet = packet, .transport = transport};
      CHECK(std::abs(run(hdrm, *bigraph, 8_MiB, settings).ratio() - 1) < 0.1);
      CHECK(std::abs(run(ring_allreduce(32), *bigraph, 8_MiB, settings).ratio() - 1) < 0.1);
    }
}

TEST_CASE("packet: a NIC sends what its cable carries: messages, headers and retransmissions") {
  const auto star = build(Star{.nodes = 4, .host_link = link_100g});
  PacketSettings settings{.header = 64_B, .acknowledgement = 0_B, .timeout = 100_us, .retries = 20};
  settings.faults.loss = 0.02;
  const Both both = run(ring_allreduce(4), *star, 1_MiB, settings);
  CHECK(both.report.resent > 0);
  for (std::size_t e = 0; e < 4; ++e) {
    CAPTURE(e);
    CHECK(both.packet.bytes_from[e] > both.flow.bytes_from[e]);
    std::int64_t carried = 0;
    for (LinkId id = 0; id < star->links(); ++id)
      if (star->from(id) == star->node_of(static_cast<int>(e))) carried += both.report.wire_bytes[static_cast<std::size_t>(id)];
    CHECK(both.packet.bytes_from[e] == carried);
  }
}

TEST_CASE("packet: cables whose round trip is longer than the timeout are no reason to retransmit") {
  const auto star = build(Star{.nodes = 2, .host_link = {100_Gbps, 300_us}});
  PacketSettings settings{.transport = PacketTransport::dctcp};
  settings.pfc.on = false;
  const Both both = run(direct_allreduce(2), *star, 4_MB, settings);
  CHECK(both.report.timeouts == 0);
  CHECK(both.report.resent == 0);
}

TEST_CASE("packet: wire efficiency stretches packets as it stretches flows") {
  const auto star = build(Star{.nodes = 4, .host_link = link_100g});
  CHECK(run(ring_allreduce(4), *star, 4_MB, {}, {.wire_efficiency = 0.8}).ratio() == doctest::Approx(1).epsilon(0.001));
}

TEST_CASE("packet: a link whose rate depends on the flows that cross it is refused by name where a message needs it") {
  const FabricSpec star = Star{.nodes = 2, .host_link = link_100g};
  const auto refused = build(star, server_preset("single_nic"));
  CHECK_THROWS_WITH_AS(
      run(ring_allreduce(8), *refused, 1_MiB),
      "network \"packet\" serves every link at one rate, but server0/socket0-socket1->server0/socket1#2 has \"contention\" with a "
      "\"two_way_rate\" in the server: use network \"flow\", or set the link's contention to \"none\"",
      InputError);
  // Messages of this server stay off it.
  const auto taken = build(star, server_preset("congestionless"));
  CHECK(run(ring_allreduce(8), *taken, 1_MiB).packet.messages == 14 * 8);
}

TEST_CASE("packet: a link that has less while both directions are used has that always") {
  const FabricSpec star = Star{.nodes = 2, .host_link = link_100g};
  Server server = server_preset("congestionless");
  Schedule one_way{.name = "one way", .collective = Collective::broadcast, .ranks = 8};
  one_way.add_step().copy({.from = 0, .to = 4, .chunk = 0});
  const auto seconds = [&] { return run(one_way, *build(star, server), 4_MiB).packet.finish.seconds(); };
  const double whole = seconds();
  for (ServerLink& link : server.links)
    if (link.from.starts_with("nic") || link.to.starts_with("nic")) link.contention = {.nic_duplex_rate = 25_Gbps};
  CHECK(seconds() == doctest::Approx(4 * whole).epsilon(0.1));
}

TEST_CASE("packet: congested halving-doubling ends, near what fair sharing gives") {
  const auto bigraph = build(BiGraph{.switches = 8, .nodes_per_switch = 4, .host_link = link_100g, .fabric_link = link_100g});
  const Both both = run(build(Request{.algorithm = "halving_doubling", .ranks = 32}), *bigraph, 8_MiB);
  CHECK(both.flow.solves > 0);
  CHECK(both.ratio() > 0.95);
  CHECK(both.ratio() < 1.5);
}

TEST_CASE("packet: a NIC that is slower than PCIe takes from a GPU what it can send, and its queue stays short") {
  const auto fabric = build(Star{.nodes = 2, .host_link = {10_Gbps, 1_us}}, server_preset("two_nic"));
  const Schedule schedule = direct_alltoall(8);
  const Both both = run(schedule, *fabric, 64_MiB);
  CHECK(std::abs(both.ratio() - 1) < 0.1);
  // 16 GB/s of PCIe for 2 x 150 ns and 4 packets of 4160 bytes on each of two links into the NIC, and what is on its way: below 100 KB,
  // where four GPUs give it 32 MiB.
  REQUIRE(!both.report.queues.empty());
  for (const QueueReport& queue : both.report.queues) {
    CAPTURE(fabric->link_name(queue.link));
    if (fabric->device(fabric->from(queue.link)).kind != DeviceKind::network_switch &&
        fabric->device(fabric->from(queue.link)).kind != DeviceKind::endpoint)
      CHECK(queue.high_water < 100_KB);
  }
  // Then what is lost is retransmitted within the timeout, which a queue of 50 ms was longer than.
  PacketSettings settings;
  settings.faults.loss = 0.001;
  const Both lossy = run(schedule, *fabric, 64_MiB, settings);
  CHECK(lossy.report.lost > 0);
  CHECK(lossy.packet.finish > both.packet.finish);
}

TEST_CASE("packet: a run whose peers are lost ends with an error") {
  const auto star = build(Star{.nodes = 2, .host_link = link_100g});
  PacketSettings settings{.transport = PacketTransport::rdma};
  settings.faults.failures = {{"node0->switch", 0_us}};
  settings.retries = 0;
  CHECK_THROWS_WITH_AS(run(ring_allreduce(2), *star, 1_MB, settings), doctest::Contains("gets no answer from node"), RunError);
}
