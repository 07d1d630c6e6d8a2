// What a message costs besides the wire, in closed form: overheads by class of path, local completion, calls, copies, regimes.
#include "collectives/algorithms/bruck.hpp"
#include "collectives/algorithms/halving_doubling.hpp"
#include "collectives/algorithms/pairwise.hpp"
#include "collectives/algorithms/recursive_doubling.hpp"
#include "collectives/algorithms/ring.hpp"
#include "collectives/libraries/nccl.hpp"
#include "models/fabric/fabric_spec.hpp"
#include "models/nccl_tuning.hpp"
#include "models/server/server_fabric.hpp"
#include "sim/engine/in_child.hpp"
#include "sim/executor/before_first_message.hpp"
#include "sim/flow/flow_network.hpp"
#include "sim/packet/packet_run.hpp"
#include "sim/reference/s4u_network.hpp"

#include <numeric>

#include <doctest/doctest.h>

using namespace weft;

namespace {

// 8 Gb/s is a byte in a nanosecond; a path is two hops of 1 us.
const FabricSpec star = Star{.nodes = 4, .host_link = {8_Gbps, 1_us}};

struct Transferred {
  Rank from, to;
};

// One message of all bytes after the other, each in a step of its own.
Schedule one_by_one(const std::vector<Transferred>& messages) {
  Schedule s{.name = "one_by_one", .collective = Collective::broadcast, .ranks = 4};
  for (const auto& [from, to] : messages) s.add_step().copy({.from = from, .to = to, .chunk = 0});
  return s;
}

struct Asked {
  const Schedule& schedule;
  const HardwareProfile& hardware;
  std::int64_t bytes = 1000;
  Regime regime = {};
};

PlacedSchedule job_of(const Asked& asked, std::span<const int> placement) {
  return {.schedule = asked.schedule, .placement = placement, .elements = asked.bytes, .hardware = asked.hardware, .regime = asked.regime};
}

NetworkRun flow(const Asked& asked, const FabricSpec& spec = star, const Server& server = {}) {
  const auto fabric = build(spec, server);
  std::vector<int> linear(static_cast<std::size_t>(asked.schedule.ranks));
  std::iota(linear.begin(), linear.end(), 0);
  Routes routes(*fabric, {});
  return run_flow_bare(job_of(asked, linear), *fabric, routes);
}

SimTime simgrid(const Asked& asked, const Server& server = {}) {
  return {std::stoll(in_child([&] {
    const auto fabric = build(star, server);
    std::vector<int> linear(static_cast<std::size_t>(asked.schedule.ranks));
    std::iota(linear.begin(), linear.end(), 0);
    Routes routes(*fabric, {});
    return std::to_string(run_s4u(job_of(asked, linear), routes).finish.ps);
  }))};
}

}  // namespace

TEST_CASE("message costs: a send below the eager threshold completes locally, one at the threshold waits for its transfer") {
  const Schedule s = one_by_one({{0, 1}, {0, 2}});
  HardwareProfile hw;
  hw.send_overhead = 2_us;
  // 2 us of overhead, 2 us of path, 1 us of transfer; the second the same behind it.
  CHECK(flow({s, hw}).finish == 10_us);
  hw.eager_threshold = 1001_B;
  // The second leaves at 4 us, when the first has crossed the links' first microsecond.
  const NetworkRun run = flow({s, hw});
  CHECK(run.finish == 7_us);
  CHECK(run.rank_finish == std::vector{4_us, 5_us, 7_us, 0_us});
  CHECK(simgrid({s, hw}) == 7_us);
  hw.eager_threshold = 1000_B;
  CHECK(flow({s, hw}).finish == 10_us);
}

TEST_CASE("message costs: what arrives to be reduced needs a buffer, whose pages are faulted in by every call where it is large") {
  // Of a message S on 4 ranks: a ring needs a buffer of S / 4, halving-doubling one of S / 2, recursive doubling one of S.
  CHECK(largest_arrival_to_reduce(ring_allreduce(4), 4096_B) == 1024_B);
  CHECK(largest_arrival_to_reduce(halving_doubling_allreduce(4), 4096_B) == 2048_B);
  CHECK(largest_arrival_to_reduce(recursive_doubling_allreduce(4), 4096_B) == 4096_B);
  Schedule s{.name = "reduce", .collective = Collective::reduce, .ranks = 4};
  s.add_step().reduce({.from = 1, .to = 0, .chunk = 0});
  s.add_step().copy({.from = 0, .to = 1, .chunk = 0});
  HardwareProfile hw;
  hw.call_overhead = 10_us;
  hw.page_fault_rate = 4_Gbps;
  CHECK(flow({s, hw}).finish == 16_us);  // 10 + 2 (1 + 2)
  hw.fresh_buffer = 1001_B;
  CHECK(flow({s, hw}).finish == 16_us);
  hw.fresh_buffer = 1000_B;
  CHECK(flow({s, hw}).finish == 18_us);  // 1000 bytes at half a byte in a nanosecond
  CHECK(simgrid({s, hw}) == 18_us);
  // The copy of the message goes to such a buffer, too, unless the result is as large: 18 + 2, and 1000 more bytes.
  hw.initial_copies = 1;
  hw.reduce_rate = 4_Gbps;
  CHECK(flow({s, hw}).finish == 24_us);  // and 2 of the reduction
  s.collective = Collective::allreduce;
  CHECK(flow({s, hw}).finish == 22_us);
  // Two steps of 1000 bytes each stand for one of 2000.
  CHECK(largest_arrival_to_reduce(s, 2000_B, std::vector<std::vector<StandsFor>>{{{2}, {1}}}) == 1000_B);
}

TEST_CASE("message costs: a call that reduces first copies its message as often as the library does, at the rate of its reductions") {
  Schedule s{.name = "reduce", .collective = Collective::reduce, .ranks = 4};
  s.add_step().reduce({.from = 1, .to = 0, .chunk = 0});
  HardwareProfile hw;
  hw.initial_copies = 2;
  CHECK(flow({s, hw}).finish == 3_us);  // reductions take no time, nor do copies
  hw.reduce_rate = 8_Gbps;
  CHECK(flow({s, hw}).finish == 6_us);  // twice 1 us, 2 + 1, and 1 us of reduction
  CHECK(simgrid({s, hw}) == 6_us);
  HardwareProfile without = hw;
  without.initial_copies = 0;
  const auto copies = [&](const Schedule& schedule) { return flow({schedule, hw}).finish - flow({schedule, without}).finish; };
  CHECK(copies(ring_reduce_scatter(4)) == 2_us);
  CHECK(copies(pairwise_reduce_scatter(4)) == 500_ns);  // each rank adds to its own 250 bytes only
  hw.page_fault_rate = without.page_fault_rate = 4_Gbps;
  hw.fresh_buffer = without.fresh_buffer = 500_B;
  CHECK(copies(ring_reduce_scatter(4)) == 6_us);        // 2000 bytes of a buffer
  CHECK(copies(pairwise_reduce_scatter(4)) == 500_ns);  // which are copied to where the result will be
  hw.page_fault_rate = {};
  hw.reduce_cache = 500_B, hw.reduce_rate_beyond_cache = 2_Gbps;  // 500 bytes in 0.5 us, 500 in 2 us
  CHECK(flow({s, hw}).finish == 10'500_ns);
  s.collective = Collective::broadcast;
  CHECK(flow({s, hw}).finish == 5'500_ns);
  CHECK(hw.in({.protocol = NcclProtocol::simple}).initial_copies == 0);
}

TEST_CASE("message costs: what an all-to-all of Bruck packs, unpacks and sorts is copied piece by piece, the bytes as fast as reductions") {
  const Schedule s = bruck_alltoall(4);
  HardwareProfile hw;
  const SimTime free = flow({s, hw, 400}).finish;
  CHECK(simgrid({s, hw, 400}) == free);
  // Blocks of 100 bytes. Rank 1 sorts the blocks before as 2 pieces and behind as 4, packs and unpacks 2 pieces of one block (distance 1)
  // and one of two (distance 2): 2 + 4 + 2 x (2 + 1) = 12 pieces, 400 + 400 + 2 x (200 + 200) = 1600 bytes. Rank 0 has a piece less.
  hw.local_copy = 2_us;
  CHECK(flow({s, hw, 400}).finish == free + 24_us);
  CHECK(simgrid({s, hw, 400}) == free + 24_us);
  hw.reduce_rate = 8_Gbps;
  CHECK(flow({s, hw, 400}).finish == free + 25'600_ns);
  CHECK(simgrid({s, hw, 400}) == free + 25'600_ns);
  hw.local_copy = {};  // copies take no time
  CHECK(flow({s, hw, 400}).finish == free);
  hw.local_copy = 2_us;
  CHECK(hw.in({.protocol = NcclProtocol::simple}).local_copy == SimTime{});
}

TEST_CASE("message costs: copies or a handshake are the sender's in part, the rest comes after the bytes and keeps nobody") {
  const Schedule s = one_by_one({{0, 1}, {1, 2}});
  HardwareProfile hw;
  hw.eager_copy_rate = 8_Gbps, hw.handshake = 4_us, hw.sender_share = 0.25;
  // 1000 bytes: 1 us of copies, with the handshake 1 x 4 / 5 = 0.8 us. 0.2 + 2 of path + 1 of transfer, then 0.6. Copying takes less than
  // the handshake, so the sender is free after its 0.2.
  const NetworkRun run = flow({s, hw});
  CHECK(run.rank_finish == std::vector{200_ns, 4_us, 7'600_ns, 0_us});
  CHECK(simgrid({s, hw}) == 7'600_ns);
  // 12 000 bytes: 12 x 4 / 16 = 3 us. Twice 0.75 + 2 + 12 + 2.25. The handshake takes less than copies, so the sender waits for the
  // transfer.
  CHECK(flow({s, hw, 12'000}).finish == 34_us);
  CHECK(flow({s, hw, 12'000}).rank_finish[0] == 14'750_ns);
  CHECK(simgrid({s, hw, 12'000}) == 34_us);
  // A factor of two is of both parts, of the path and of the bytes: twice 0.4 + 4 + 2 + 1.2.
  hw.cost_by_size = {{"message", "message", 2, 1000_B, 2.0}};
  CHECK(flow({s, hw}).finish == 15'200_ns);
  CHECK(simgrid({s, hw}) == 15'200_ns);
}

TEST_CASE("message costs: the overhead of a path's class is the receiver's to wait for, not the sender's") {
  const Schedule s = one_by_one({{0, 1}, {1, 2}});
  HardwareProfile hw;
  hw.rail_overhead = 5_us;
  // 2 us of path, 1 us of transfer, then 5 us.
  const NetworkRun run = flow({s, hw});
  CHECK(run.rank_finish == std::vector{3_us, 11_us, 16_us, 0_us});
  CHECK(simgrid({s, hw}) == 16_us);
  hw.network_overhead = 100_us, hw.nvlink_overhead = 100_us;  // not on one switch
  CHECK(flow({s, hw}).finish == 16_us);
}

TEST_CASE("message costs: factors by the size of a message are of all that it costs, its path included") {
  const Schedule s = one_by_one({{0, 1}, {1, 2}});
  HardwareProfile hw;
  hw.send_overhead = 2_us, hw.receive_overhead = 1_us, hw.rail_overhead = 3_us;
  hw.rendezvous = 4_us, hw.rendezvous_threshold = 1000_B;
  hw.cost_by_size = {{"message", "message", 2, 1000_B, 1.0}, {"message", "message", 2, 2000_B, 3.0}};
  // Of 1000 bytes twice 2 + 4 + 2 of path + 1 of transfer + 3 + 1.
  CHECK(flow({s, hw}).finish == 26_us);
  // Of 2000 bytes each three times 2 + 4 + 2 + 2 + 3 + 1.
  CHECK(flow({s, hw, 2000}).finish == 84_us);
  CHECK(simgrid({s, hw, 2000}) == 84_us);
  // A factor of one half leaves the path, and bytes cannot go faster than the links: twice 1 + 2 + 2 + 2 + 1.5 + 0.5.
  hw.cost_by_size = {hw.cost_by_size[0], {"message", "message", 2, 2000_B, 0.5}};
  CHECK(flow({s, hw, 2000}).finish == 18_us);
  CHECK(simgrid({s, hw, 2000}) == 18_us);
}

TEST_CASE("message costs: every class of path has its own overhead") {
  const Server dgx = server_preset("dgx_a100"), pcie = server_preset("single_nic"), two_nic = server_preset("two_nic");
  const FabricSpec two = FatTree{.leaves = 2, .nodes_per_leaf = 8, .spines = 1, .host_link = {8_Gbps, 1_us}, .fabric_link = {8_Gbps, 1_us}};
  const auto class_between = [](const FabricSpec& spec, const Server& server, int a, int b) {
    const auto fabric = build(spec, server);
    Routes routes(*fabric, {});
    return class_of(*fabric, routes.hops(routes.of(a, b)));
  };
  CHECK(class_between(star, dgx, 0, 1) == PathClass::nvlink);
  CHECK(class_between(star, dgx, 0, 8) == PathClass::rail);
  CHECK(class_between(star, pcie, 0, 1) == PathClass::pcie);
  CHECK(class_between(star, pcie, 0, 2) == PathClass::sockets);
  CHECK(class_between(star, two_nic, 0, 1) == PathClass::pcie);
  CHECK(class_between(star, two_nic, 0, 2) == PathClass::rail);  // through its NICs, not between the sockets
  CHECK(class_between(two, {}, 0, 7) == PathClass::rail);
  CHECK(class_between(two, {}, 0, 8) == PathClass::network);
}

TEST_CASE("message costs: a call begins after its overhead, messages that are not inline cost more") {
  const Schedule s = one_by_one({{0, 1}, {1, 2}});
  HardwareProfile hw;
  hw.call_overhead = 10_us;
  hw.inline_threshold = 500_B;
  hw.beyond_inline = 1_us;
  // 10 + 2 (1 + 2 + 1) = 18.
  CHECK(flow({s, hw}).finish == 18_us);
  CHECK(simgrid({s, hw}) == 18_us);
  hw.inline_threshold = 1001_B;
  CHECK(flow({s, hw}).finish == 16_us);
}

TEST_CASE("message costs: a core copies what neither a NIC nor an NVLink brings, one message after another, and then reduces it") {
  const Server host = cpu_host({.cores = 4});  // cores 0 and 1 on the first socket
  HardwareProfile hw;
  hw.copy_rate = 8_Gbps;  // a byte in a nanosecond
  const auto time_of = [&](const Schedule& s, const Server& server) { return flow({s, hw, 64'000}, star, server).finish; };
  // Over the links of 64 GB/s and 25 ns, over those between the sockets 80 ns besides; then 64 us of copying.
  CHECK(time_of(one_by_one({{0, 1}}), host) == 1_us + 50_ns + 64_us);
  CHECK(time_of(one_by_one({{0, 3}}), host) == 1_us + 130_ns + 64_us);
  CHECK(time_of(one_by_one({{0, 1}, {1, 3}}), host) == 2_us + 180_ns + 128_us);
  CHECK(simgrid({one_by_one({{0, 1}, {1, 3}}), hw, 64'000}, host) == 2_us + 180_ns + 128_us);
  // Two at once share the receiver's link, and are copied behind one another.
  Schedule two{.name = "two at once", .collective = Collective::broadcast, .ranks = 4};
  Step& step = two.add_step();
  for (const Rank from : {0, 1}) step.copy({.from = from, .to = 2, .chunk = 0});
  CHECK(time_of(two, host) == 2_us + 130_ns + 128_us);
  Schedule sum{.name = "one sum", .collective = Collective::reduce, .ranks = 4};
  sum.add_step().reduce({.from = 0, .to = 1, .chunk = 0});
  hw.reduce_rate = 16_Gbps;
  CHECK(time_of(sum, host) == 1_us + 50_ns + 64_us + 32_us);
  CHECK(simgrid({sum, hw, 64'000}, host) == 1_us + 50_ns + 64_us + 32_us);
  // Between hosts, over NVLinks and in NCCL nobody copies.
  const Schedule between = one_by_one({{0, 1}});
  CHECK(time_of(between, {}) == 66_us);
  CHECK(time_of(between, server_preset("dgx_a100")) < 2_us);
  CHECK(hw.in({.protocol = NcclProtocol::simple}).copy_rate_for(1_MiB) == BitsPerSecond{0});
}

TEST_CASE("message costs: messages from core to core have what a socket copies between them, but for those within an L3") {
  HardwareProfile hw;
  hw.copy_rate_of_socket = 8_Gbps;  // a byte in a nanosecond
  const auto time_of = [&](std::initializer_list<std::pair<Rank, Rank>> pairs, const CpuHost& host) {
    Schedule at_once{.name = "at once", .collective = Collective::broadcast, .ranks = 8};
    Step& step = at_once.add_step();
    for (const auto& [from, to] : pairs) step.copy({.from = from, .to = to, .chunk = 0});
    const SimTime time = flow({at_once, hw, 64'000}, star, cpu_host(host)).finish;
    CHECK(simgrid({at_once, hw, 64'000}, cpu_host(host)) == time);
    return time;
  };
  CHECK(time_of({{0, 1}}, {.cores = 8}) == 50_ns + 64_us);
  CHECK(time_of({{0, 1}, {2, 3}}, {.cores = 8}) == 50_ns + 128_us);
  CHECK(time_of({{0, 1}, {4, 5}}, {.cores = 8}) == 50_ns + 64_us);                    // each on a socket of its own
  CHECK(time_of({{0, 4}, {1, 5}}, {.cores = 8}) == 130_ns + 128_us);                  // both in the memory of their senders
  CHECK(time_of({{0, 1}, {2, 3}}, {.cores = 8, .cores_per_l3 = 2}) == 50_ns + 1_us);  // 64 GB/s from core to core
  CHECK(time_of({{0, 2}}, {.cores = 8, .cores_per_l3 = 2}) == 130_ns + 64_us);
}

TEST_CASE("message costs: pipelined segments pay the overhead of the path once, for the sender goes on meanwhile") {
  HardwareProfile hw;
  hw.rail_overhead = 50_us;
  // One sender, 10 segments of 10 us: the path, all transfers behind one another (each waits for its own 2 us of path), the overhead.
  Schedule s{.name = "segments", .collective = Collective::broadcast, .ranks = 4, .chunks = 10};
  for (int k = 0; k < 10; ++k) s.add_step().copy({.from = 0, .to = 1, .chunk = k});
  CHECK(flow({s, hw, 100'000}).finish == 10 * 12_us + 50_us);
  CHECK(simgrid({s, hw, 100'000}) == 10 * 12_us + 50_us);
}

TEST_CASE("message costs: NCCL's messages follow one another through its buffers, and the path's latency is paid once") {
  // As above, in NCCL's Simple protocol: 10 messages of 10 us behind one another, and one hop of 14 us after the last, of which the
  // path's 2 us are a part. Each message is too large to be sent ahead of those before it.
  Schedule s{.name = "segments", .collective = Collective::broadcast, .ranks = 4, .chunks = 10};
  for (int k = 0; k < 10; ++k) s.add_step().copy({.from = 0, .to = 1, .chunk = k});
  const HardwareProfile table;
  const Regime simple{NcclProtocol::simple, NcclAlgorithm::ring, true};
  const SimTime base = table.in(simple).call_overhead;
  CHECK(flow({s, table, 100'000, simple}).finish == base + 10 * 10_us + 14_us);
}

TEST_CASE("message costs: a small ring over two servers pays the network where the data crosses it, not in every step") {
  // 8 ranks of 4 GPUs on NVLink, LL: a chunk goes 14 hops, 3 or 4 of them over the network and the others over NVLink.
  const NcclShape shape{.ranks = 8, .gpus = 4};
  const Schedule ring = nccl_ring_allreduce(shape);
  const HardwareProfile table;
  const Regime ll{NcclProtocol::ll, NcclAlgorithm::ring, true};
  const HardwareProfile costs = table.in(ll);
  Server server = server_preset("dgx_a100");
  server.gpus.resize(4);
  std::erase_if(server.links,
                [](const ServerLink& l) { return l.from.starts_with("gpu") ? l.from > "gpu3" : l.to.starts_with("gpu") && l.to > "gpu3"; });
  const SimTime time = flow({ring, table, 32, ll}, Star{.nodes = 16, .host_link = {200_Gbps, 500_ns}}, server).finish;
  const SimTime nvlink_hop = costs.nvlink_overhead, rail_hop = costs.rail_overhead;  // the paths' latencies are part of them
  // Large chunks of 1 MiB: 14 steps of a hop's mean latency and of the network's 200 Gb/s, 41.94 us, none beside another.
  const Regime simple{NcclProtocol::simple, NcclAlgorithm::ring, true};
  const HardwareProfile large = table.in(simple);
  const SimTime of_large = flow({ring, table, 8 << 20, simple}, Star{.nodes = 16, .host_link = {200_Gbps, 500_ns}}, server).finish;
  const double mean_us = (6 * large.nvlink_overhead.microseconds() + 2 * large.rail_overhead.microseconds()) / 8;
  CHECK(of_large.microseconds() == doctest::Approx(large.call_overhead.microseconds() + 14 * (mean_us + 41.94)).epsilon(0.01));
  // To within the bytes' own time, nanoseconds.
  CHECK(time.microseconds() >= (costs.call_overhead + 10 * nvlink_hop + 3 * rail_hop).microseconds());
  CHECK(time.microseconds() <= (costs.call_overhead + 10 * nvlink_hop + 4 * rail_hop).microseconds() + 0.1);
}
