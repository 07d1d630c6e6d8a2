#include "sim/flow/flow_network.hpp"

#include "collectives/algorithms/halving_doubling.hpp"
#include "collectives/algorithms/ring.hpp"
#include "collectives/registry/registry.hpp"
#include "models/fabric/bigraph.hpp"
#include "models/fabric/fabric_test.hpp"
#include "models/fabric/star.hpp"

#include <numeric>

#include <doctest/doctest.h>

using namespace weft;
using weft::test::link_100g;

namespace {

NetworkRun run(const Schedule& schedule, const Fabric& fabric, Bytes message, const HardwareProfile& hardware = {},
               std::span<const SimTime> start = {}) {
  std::vector<int> linear(static_cast<std::size_t>(schedule.ranks));
  std::iota(linear.begin(), linear.end(), 0);
  Routes routes(fabric, Ecmp{});
  return run_flow_bare({schedule, linear, message.count / 4, 4, hardware, start}, fabric, routes);
}

NetworkRun run(const Schedule& schedule, Bytes message, const HardwareProfile& hardware = {}, std::span<const SimTime> start = {}) {
  const auto star = build(Star{.nodes = schedule.ranks, .host_link = link_100g});
  return run(schedule, *star, message, hardware, start);
}

}  // namespace

TEST_CASE("flow: ring takes 2(n-1) steps of latency plus one chunk") {
  // 1 MB / 100 Gb/s = 80 us; two hops of 0.5 us; 2 * 1023 steps -> 165.726 ms
  const NetworkRun r = run(ring_allreduce(1024), 1_MB * 1024);
  CHECK(r.finish == 165'726_us);
  CHECK(r.messages == 2 * 1023 * 1024);
  CHECK(r.solves == 0);
}

TEST_CASE("flow: overheads add to each step of a ring") {
  const HardwareProfile hardware{.send_overhead = 2_us,
                                 .receive_overhead = 1_us,
                                 .first_use = 30_us,
                                 .rendezvous = 3_us,
                                 .rendezvous_threshold = 1_MB,
                                 .reduce_launch = 5_us,
                                 .reduce_rate = 400_Gbps};
  // 4 ranks, 1 MB chunks. Reduce-scatter step: 2 + 3 (rendezvous) + 1 (latency of the link) + 80 + 1 + 5 + 20 us, three times;
  // gather step: 2 + 3 + 1 + 80 + 1, three times; the first send meets its peer: 30.
  CHECK(run(ring_allreduce(4), 4_MB, hardware).finish == SimTime{3 * (112_us).ps + 3 * (87_us).ps + (30_us).ps});
  // Below the threshold no rendezvous.
  const SimTime chunk = 999'996_B / 100_Gbps, reduction = 999'996_B / 400_Gbps;
  CHECK(run(ring_allreduce(4), 4 * 999'996_B, hardware).finish == 30_us + 3 * (9_us + chunk + reduction) + 3 * (4_us + chunk));
}

TEST_CASE("flow: wire efficiency stretches the transfer, not the latency") {
  HardwareProfile hardware;
  hardware.wire_efficiency = 0.8;
  CHECK(run(ring_allreduce(2), 2_MB, hardware).finish == 2 * (1_us + 100_us));
}

TEST_CASE("flow: sends of one step queue behind one another's overhead") {
  Schedule s{.collective = Collective::broadcast, .ranks = 4};
  Step& step = s.add_step();
  for (int to = 1; to < 4; ++to) step.copy({.from = 0, .to = to, .chunk = 0});
  const HardwareProfile hardware{.send_overhead = 10_us};
  // 4 kB at 100 Gb/s = 320 ns; posted at 10, 20 and 30 us, so they never share the link.
  const NetworkRun r = run(s, 4_KB, hardware);
  CHECK(r.rank_finish == std::vector{31'320_ns, 11'320_ns, 21'320_ns, 31'320_ns});
}

TEST_CASE("flow: an eager message may arrive before its receiver is in the step; a rendezvous waits for it") {
  Schedule s{.collective = Collective::broadcast, .ranks = 2};
  s.add_step().copy({.from = 0, .to = 1, .chunk = 0});
  const std::vector start{0_us, 500_us};
  CHECK(run(s, 1_MB, {}, start).rank_finish == std::vector{81_us, 500_us});
  const HardwareProfile hardware{.rendezvous = 4_us, .rendezvous_threshold = 1_KB};
  CHECK(run(s, 1_MB, hardware, start).rank_finish == std::vector{585_us, 585_us});
}

TEST_CASE("flow: HDRM on a balanced BiGraph takes the contention-free time, exactly") {
  const BiGraph shape{.switches = 16, .nodes_per_switch = 4, .host_link = link_100g, .fabric_link = link_100g};
  const auto fabric = build(shape);
  const Schedule hdrm = build(Request{.algorithm = "hdrm", .ranks = 64, .bigraph = BiGraphShape{16, 4}});
  // 64 MB: step i moves 64 MB / 2^i, i = 1..6, twice; three hops of 0.5 us each time.
  SimTime expected{};
  for (int i = 1; i <= 6; ++i) expected += 2 * (1'500_ns + Bytes{64'000'000 >> i} / 100_Gbps);
  const NetworkRun r = run(hdrm, *fabric, 64_MB);
  CHECK(r.finish == expected);
  CHECK(r.solves == 0);
  // Halving-doubling on the same fabric, unplaced, meets congestion.
  CHECK(run(halving_doubling_allreduce(64), *fabric, 64_MB).finish.ps > 3 * expected.ps / 2);
}

TEST_CASE("flow: bytes on links are those of the schedule") {
  const NetworkRun r = run(ring_allreduce(4), 4_MB);
  CHECK(std::accumulate(r.bytes_on_link.begin(), r.bytes_on_link.end(), std::int64_t{0}) == 2 * r.messages * 1'000'000);
  CHECK(*std::ranges::max_element(r.bytes_on_link) == 6'000'000);
}

TEST_CASE("flow: the timeline has every message, from post to end") {
  const Schedule schedule = ring_allreduce(3);
  const auto star = build(Star{.nodes = 3, .host_link = link_100g});
  const std::vector placement{0, 1, 2};
  Routes routes(*star, Ecmp{});
  std::vector<MessageRecord> timeline;
  const HardwareProfile hardware{.send_overhead = 1_us};
  const NetworkRun r = run_flow_bare({schedule, placement, 750'000, 4, hardware, {}}, *star, routes, &timeline);
  REQUIRE(timeline.size() == 12);
  CHECK(timeline.front().posted == 1_us);
  CHECK(timeline.front().active == 2_us);
  CHECK(timeline.front().ended == 82_us);
  CHECK(timeline.front().bytes == 1'000'000);
  CHECK(timeline.back().ended == r.finish);
}

TEST_CASE("flow: double the size or halve the bandwidth and a run takes longer, hardly more than twice as long") {
  for (const char* algorithm : {"ring", "halving_doubling", "recursive_doubling", "direct"}) {
    CAPTURE(algorithm);
    const Schedule s = build(Request{.algorithm = algorithm, .ranks = 32});
    const auto at = [&](BitsPerSecond rate, Bytes size) {
      const auto fabric = build(BiGraph{.switches = 8, .nodes_per_switch = 4, .host_link = {rate, 1_us}, .fabric_link = {rate, 1_us}});
      return run(s, *fabric, size).finish.ps;
    };
    const std::int64_t once = at(100_Gbps, 1_MiB);
    CHECK(at(100_Gbps, 2_MiB) > once);
    // Latencies shift who meets whom on a link, so twice is not an exact bound.
    CHECK(at(100_Gbps, 2_MiB) <= once * 21 / 10);
    CHECK(at(50_Gbps, 1_MiB) > once);
    CHECK(at(50_Gbps, 1_MiB) <= once * 21 / 10);
  }
}
