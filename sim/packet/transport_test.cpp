#include "models/fabric/fabric_test.hpp"
#include "models/fabric/star.hpp"
#include "sim/packet/testing.hpp"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;
using test::Wires;
using weft::test::link_100g;

namespace {

PacketSettings with(PacketTransport transport) { return {.packet = 1_KB, .ecn = {.min = 65_KB, .max = 65_KB}, .transport = transport}; }

}  // namespace

TEST_CASE("packet: a window of one packet sends one a round trip") {
  // There: 2 * 500 ns, 64 of the headers at the switch, 80 ns of packet. Back: 1000 ns and the same for 64 bytes.
  const auto star = build(Star{.nodes = 2, .host_link = link_100g});
  PacketSettings s = with(PacketTransport::fixed_window);
  s.window = 1_KB;
  const SimTime there = 1'000_ns + 64 * 80_ps + 80_ns, back = 1'000_ns + 2 * 64 * 80_ps;
  Wires wires(*star, s);
  wires.send(0, 1, 10_KB);
  CHECK(wires.run() == std::vector{9 * (there + back) + there});
  CHECK(wires.network.in_flight() == 0);
  s.acknowledgement = 0_B;  // answers take the latency and nothing else
  Wires light(*star, s);
  light.send(0, 1, 10_KB);
  CHECK(light.run() == std::vector{9 * (there + 1'000_ns) + there});
}

TEST_CASE("packet: a window larger than the round trip holds does not slow a message down") {
  const auto star = build(Star{.nodes = 2, .host_link = link_100g});
  for (const PacketTransport transport :
       {PacketTransport::fixed_window, PacketTransport::dctcp, PacketTransport::dcqcn, PacketTransport::rdma}) {
    CAPTURE(name_of(transport));
    Wires wires(*star, with(transport));
    wires.send(0, 1, 1_MB);
    CHECK(wires.run() == std::vector{1'000_ns + 80_us + 64 * 80_ps});
  }
}

TEST_CASE("packet: DCTCP's slow start doubles the window each round trip, also where acknowledgements come at the rate of the link") {
  // A round trip is 80 us, and a packet 0.33 us: windows of 16, 32 and 64 packets each wait for their first acknowledgement. Then the
  // last 16 of 128 packets are sent, and arrive 40 us later. With one acknowledgement for four packets each round trip is three packets
  // longer.
  const auto star = build(Star{.nodes = 2, .host_link = {100_Gbps, 20_us}});
  PacketSettings s{.ecn = {.on = false}, .transport = PacketTransport::dctcp, .window = 64_KiB, .acknowledgement = 0_B};
  constexpr double packet = 0.32768;
  for (const int every : {1, 4}) {
    CAPTURE(every);
    s.acknowledge_every = every;
    Wires wires(*star, s);
    wires.send(0, 1, 512_KiB);
    CHECK(wires.run().front().microseconds() == doctest::Approx(3 * (80 + every * packet) + 40 + 16 * packet).epsilon(0.005));
  }
}

TEST_CASE("packet: two DCTCP messages share a link in halves, and the queue stays near the threshold") {
  const auto star = build(Star{.nodes = 3, .host_link = link_100g});
  const auto second_takes = [&](Bytes bytes) {
    Wires wires(*star, with(PacketTransport::dctcp));
    wires.send(0, 2, 80_MB);
    wires.send(1, 2, bytes, 1_ms);
    const auto ends = wires.run();
    // Nothing is lost of the link.
    CHECK(ends[0].microseconds() == doctest::Approx(static_cast<double>((80_MB + bytes).count) / 12'500).epsilon(0.01));
    CHECK(wires.network.report().marked > 0);
    CHECK(wires.network.report().dropped == 0);
    CHECK(wires.high_water(2) < 400_KB);
    return (ends[1] - 1_ms).microseconds();
  };
  // 12.5 MB at half of 100 Gb/s: 2 ms. The second starts behind and needs half a millisecond to get its share.
  const double short_us = second_takes(12'500_KB), long_us = second_takes(25_MB);
  CHECK(long_us - short_us == doctest::Approx(2'000).epsilon(0.02));
  CHECK(long_us < 4'600);
}

TEST_CASE("packet: two DCQCN messages share a link, and notifications hold the queue down") {
  const auto star = build(Star{.nodes = 3, .host_link = link_100g});
  PacketSettings s = with(PacketTransport::dcqcn);
  s.ecn = {.min = 100_KB, .max = 400_KB, .probability = 0.2};
  Wires wires(*star, s);
  wires.send(0, 2, 60_MB);
  wires.send(1, 2, 60_MB);
  const auto ends = wires.run();
  CHECK(ends[0].microseconds() == doctest::Approx(ends[1].microseconds()).epsilon(0.15));
  CHECK(ends[0].microseconds() < 2.0 * 9'600);
  CHECK(wires.network.report().notifications > 0);
  CHECK(wires.high_water(2) < 2_MB);
  // Without it the queue is all that one of them sends too much, up to where pauses hold it.
  Wires blunt(*star, {.packet = 1_KB, .transport = PacketTransport::rdma});
  blunt.send(0, 2, 60_MB);
  blunt.send(1, 2, 60_MB);
  blunt.run();
  CHECK(blunt.high_water(2) > 2_MB);
}

TEST_CASE("packet: messages of one NIC take turns, packet by packet") {
  const auto star = build(Star{.nodes = 4, .host_link = link_100g});
  Wires wires(*star, with(PacketTransport::rdma));
  wires.send(0, 1, 100_KB);
  wires.send(0, 2, 100_KB);
  wires.send(0, 3, 50_KB);
  const auto ends = wires.run();
  // The first packet of the first finds nobody else there. Then turns of three until the short one has ended, then of two.
  const SimTime rest = 1'000_ns + 64 * 80_ps;
  CHECK(ends == std::vector{rest + 248 * 80_ns, rest + 250 * 80_ns, rest + 151 * 80_ns});
}

TEST_CASE("packet: without pauses a full buffer drops, and what is dropped is retransmitted") {
  const auto star = build(Star{.nodes = 5, .host_link = link_100g});
  for (const PacketTransport transport : {PacketTransport::fixed_window, PacketTransport::dctcp, PacketTransport::rdma}) {
    CAPTURE(name_of(transport));
    PacketSettings s = with(transport);
    s.pfc.on = false;
    s.switch_buffer = 100_KB;
    Wires wires(*star, s);
    for (int from = 0; from < 4; ++from) wires.send(from, 4, 1_MB);
    for (const SimTime end : wires.run()) CHECK(end >= 81_us);
    const PacketReport r = wires.network.report();
    CHECK(r.dropped > 0);
    CHECK(r.resent > 0);
    CHECK(wires.network.in_flight() == 0);
    // Dynamic threshold 1: a single queue gets half of the buffer.
    CHECK(wires.high_water(4) <= 52_KB);
    CHECK(wires.high_water(4) >= 50_KB);
  }
}

TEST_CASE("packet: a marking step marks what joins a queue of that length and nothing below") {
  const auto star = build(Star{.nodes = 3, .host_link = link_100g});
  PacketSettings s = with(PacketTransport::fixed_window);
  s.ecn = {.min = 20_KB, .max = 20_KB};
  Wires below(*star, s);
  for (int from = 0; from < 2; ++from) below.send(from, 2, 19_KB);
  below.run();
  CHECK(below.network.report().marked == 0);
  Wires above(*star, s);
  for (int from = 0; from < 2; ++from) above.send(from, 2, 40_KB);
  above.run();
  CHECK(above.network.report().marked > 15);
}

TEST_CASE("packet: RED marks a share of the packets that grows with the queue") {
  const auto star = build(Star{.nodes = 3, .host_link = link_100g});
  PacketSettings s = with(PacketTransport::rdma);
  s.ecn = {.min = 1_B, .max = 10_MB, .probability = 1};
  Wires wires(*star, s);
  for (int from = 0; from < 2; ++from) wires.send(from, 2, 1_MB);
  wires.run();
  // The queue grows to 1 MB, a tenth of `max`: 2000 packets at 0 to 0.1, 0.05 on average... of those that wait.
  CHECK(wires.network.report().marked > 60);
  CHECK(wires.network.report().marked < 140);
}
