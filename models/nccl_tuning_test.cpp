#include "models/nccl_tuning.hpp"

#include "models/nccl_expectation.hpp"

#include <cmath>

#include <doctest/doctest.h>

namespace weft {
namespace {

// 4 servers of 4 GPUs on NVLink, 100 GB/s of NICs each.
constexpr NcclQuestion four_servers = {.ranks = 16, .servers = 4, .nvlink = true, .outside = 800_Gbps};

Regime of_four(NcclProtocol protocol, NcclAlgorithm pattern, SimTime longer = {}) {
  return {.protocol = protocol, .pattern = pattern, .between_servers = true, .longer = longer, .gpus = 4, .nvlink = true};
}

Regime with_channels(Regime regime, int channels) {
  regime.channels = channels;
  return regime;
}

// 8 H100 on an NVSwitch.
constexpr NcclQuestion one_server = {.ranks = 8, .nvlink = true, .switch_adds = true, .inside = BitsPerSecond{8 * 370'800'000'000}};

}  // namespace

TEST_CASE("nccl tuning: the estimate is the table's latencies plus the bytes at the protocol's part of the rate") {
  // Ring, Simple: 8.4 + 24 hops of 3.4 and 6 of 14 us = 174 us, 1.4 times; 2 * 15/16 * 512 MiB at 100 GB/s = 10066.32960 us.
  const SimTime ring = nccl_estimate({}, four_servers, {NcclProtocol::simple, NcclAlgorithm::ring, true}, 512_MiB);
  CHECK(ring.microseconds() == doctest::Approx(1.4 * 174 + 10066.3296).epsilon(1e-9));
  // Ring, LL: 6.6 + 24 * 1.0 (to launch) + 6 * 2.7 = 46.8; 2 * 15/16 * 256 B at 25 GB/s = 0.0192.
  const SimTime small = nccl_estimate({}, four_servers, {NcclProtocol::ll, NcclAlgorithm::ring, true}, 256_B);
  CHECK(small.microseconds() == doctest::Approx(46.8 + 0.0192).epsilon(1e-6));
  // Tree, LL: 6.8 + 2 (3 * 0.6 + 2 * 5.0) = 30.4; 2 * 256 B at 0.25 * 0.92 * 4/3.8 of it.
  const SimTime tree = nccl_estimate({}, four_servers, {NcclProtocol::ll, NcclAlgorithm::tree, true}, 256_B);
  CHECK(tree.microseconds() == doctest::Approx(30.4 + 512 / (100e3 * 0.25 * 0.92 * 4 / 3.8)).epsilon(1e-6));
}

TEST_CASE("nccl tuning: small messages take LL and trees, large ones Simple and rings; LL128 needs NVLink") {
  CHECK(nccl_choice({}, four_servers, 256_B) == of_four(NcclProtocol::ll, NcclAlgorithm::tree, SimTime{91'022}));
  // 4 channels of 24 GB/s fill the NICs, and each is taken twice.
  CHECK(nccl_choice({}, four_servers, 1_GiB) == with_channels(of_four(NcclProtocol::simple, NcclAlgorithm::ring), 8));
  const auto protocols = [](bool nvlink, bool in_order = true) {
    bool ll128 = false;
    NcclQuestion q = four_servers;
    q.nvlink = nvlink, q.ll128 = in_order;
    for (std::int64_t bytes = 8; bytes <= (1_GiB).count; bytes *= 2)
      ll128 |= nccl_choice({}, q, Bytes{bytes}).protocol == NcclProtocol::ll128;
    return ll128;
  };
  CHECK(protocols(true));
  CHECK_FALSE(protocols(false));
  CHECK_FALSE(protocols(true, false));  // through a socket, say
}

TEST_CASE("nccl tuning: what is fitted to calls changes what they cost, not what NCCL chooses; a bias does") {
  HardwareProfile fitted;
  fitted.ll_hops = 5, fitted.simple_efficiency = 0.2, fitted.network_hops = 3;
  for (std::int64_t bytes = 8; bytes <= (1_GiB).count; bytes *= 4)
    CHECK(nccl_choice(fitted, four_servers, Bytes{bytes}) == nccl_choice({}, four_servers, Bytes{bytes}));
  fitted.tree_bias = 0.1;
  CHECK(nccl_choice(fitted, four_servers, 256_B).pattern == NcclAlgorithm::ring);
}

TEST_CASE(
    "nccl tuning: between two servers a tree sends every byte once each way, so that it goes with large messages too where NICs are slow") {
  NcclQuestion q = four_servers;
  q.servers = 2, q.nics = 8, q.inside = 2400_Gbps;
  CHECK(nccl_choice({}, q, 1_GiB).pattern == NcclAlgorithm::tree);
  CHECK(nccl_choice({}, four_servers, 1_GiB).pattern == NcclAlgorithm::ring);
}

TEST_CASE("nccl tuning: NCCL expects more of LL than a profile that nothing was fitted to, and chooses it for larger messages") {
  NcclQuestion q{.ranks = 2, .servers = 2, .ll128 = false, .outside = 100_Gbps};
  // LL: 6.6 + 2 * 5.0 + 256 KiB at 6.25 GB/s = 58.5 us, and at a fourth of the rate 100.5; Simple: 1.4 (8.4 + 2 * 14) + 21.0 = 71.9.
  CHECK(nccl_choice({}, q, 256_KiB).protocol == NcclProtocol::ll);
  CHECK(nccl_choice({}, q, 512_KiB).protocol == NcclProtocol::simple);
  // On NVLink: LL 6.6 + 14 * 0.6 + 1.75 MiB at 141 GB/s = 28.0 us; NVLS 25 + 1.75 MiB at 490.4 GB/s = 28.7.
  CHECK(nccl_choice({}, one_server, 1_MiB).protocol == NcclProtocol::ll);
  CHECK(nccl_choice({}, one_server, 2_MiB).pattern == NcclAlgorithm::nvls);
  // Between more than two servers at most 20.4 GB/s: 46.8 + 385.5 us of 4 MiB, where Simple takes 1.4 * 174 + 78.6. Half of the rate would
  // be 204.1.
  NcclQuestion rings = four_servers;
  rings.algorithm = NcclAlgorithm::ring, rings.ll128 = false;
  CHECK(nccl_choice({}, rings, 4_MiB).protocol == NcclProtocol::simple);
  CHECK(nccl_choice({}, rings, 2_MiB).protocol == NcclProtocol::ll);
}

TEST_CASE("nccl tuning: a ring that is staged in host memory writes and reads by turns, which NCCL does not know when it chooses") {
  // One way takes 280 of 328 bytes. Two ranks: an all-reduce writes, does both, and reads; an all-gather writes and reads.
  CHECK(staged_turns(2) == doctest::Approx((2 * 280 / 328.0 + 1) / 2));
  CHECK(staged_turns(1) == doctest::Approx(2 * 280 / 328.0));
  CHECK(staged_turns(0) == 1);
  const auto sends = [](Collective collective, int ranks, bool staged = true) {
    const NcclQuestion q{.collective = collective, .ranks = ranks, .staged = staged, .inside = 100_Gbps};
    NcclQuestion beside = q;
    beside.staged = false;
    CHECK(nccl_choice({}, q, 1_GiB).protocol == nccl_choice({}, beside, 1_GiB).protocol);
    return nccl_choice({}, q, 1_GiB).staged_sends;
  };
  CHECK(sends(Collective::allreduce, 2) == 2);
  CHECK(sends(Collective::allreduce, 2, false) == 0);
  CHECK(sends(Collective::reduce_scatter, 4) == 3);
  CHECK(sends(Collective::broadcast, 2) == 0);
  CHECK(sends(Collective::alltoall, 4) == 0);
  const Regime staged{.protocol = NcclProtocol::simple, .staged_sends = 1};
  CHECK(nccl_costs({}, staged).efficiency == doctest::Approx(328 / 560.0));
}

TEST_CASE("nccl tuning: factors that are taken from a profile and given to another make the same costs") {
  HardwareProfile from;
  from.ll128_hops = 2, from.network_hops = 3, from.ll128_efficiency = 0.5, from.tree_efficiency = 0.8;
  from.rendezvous = 7_us;
  const Regime tree{.protocol = NcclProtocol::ll128, .pattern = NcclAlgorithm::tree, .between_servers = true, .handshakes = 1};
  const NcclCosts want = nccl_costs(from, tree), got = nccl_costs(with_nccl_factors({}, tree, nccl_factors(from, tree)), tree);
  CHECK(got.network == want.network);
  CHECK(got.nvlink == want.nvlink);
  CHECK(got.efficiency == doctest::Approx(want.efficiency));
}

TEST_CASE("nccl tuning: factors of a ring between servers hold what it launches") {
  HardwareProfile from;
  from.ll_hops = 0.5, from.network_hops = 3, from.nccl_launch = 2;
  Regime ring = of_four(NcclProtocol::ll, NcclAlgorithm::ring);
  for (const bool nvlink : {true, false}) {
    ring.nvlink = nvlink;
    const NcclCosts want = nccl_costs(from, ring), got = nccl_costs(with_nccl_factors(from, ring, nccl_factors(from, ring)), ring);
    CHECK(want.nvlink == 2_us);
    CHECK((nvlink ? got.nvlink : got.pcie) == 2_us);
    CHECK(got.network == want.network);
  }
  CHECK(nccl_costs(with_nccl_factors(from, of_four(NcclProtocol::ll, NcclAlgorithm::ring), {}), ring).pcie == 1_us);
}

TEST_CASE("nccl tuning: a call between servers costs once what the profile says of the network, however many hops it has") {
  HardwareProfile profile;
  profile.nccl_network = 9_us;
  NcclQuestion q{.ranks = 16, .servers = 2, .nvlink = true, .nics = 8, .inside = 1920_Gbps, .outside = 1600_Gbps};
  const auto added = [&](NcclAlgorithm pattern) {
    q.algorithm = pattern;
    const Regime regime = nccl_choice(profile, q, 8_B);
    CHECK(nccl_costs(profile, regime).network == nccl_costs({}, regime).network);
    return nccl_costs(profile, regime).base - nccl_costs({}, regime).base;
  };
  for (const int servers : {2, 16}) {
    q.ranks = 8 * servers, q.servers = servers;
    for (const NcclAlgorithm pattern : {NcclAlgorithm::ring, NcclAlgorithm::tree}) CHECK(added(pattern) == 9_us);
  }
  q.switch_adds = true;
  CHECK(added(NcclAlgorithm::nvls_tree) == 9_us);
  q.ranks = 8, q.servers = 1;
  CHECK(added(NcclAlgorithm::ring) == 0_us);
}

TEST_CASE("nccl tuning: with LL a hop of a ring in one server takes longer for the bytes that go at once") {
  NcclQuestion q{.ranks = 8, .nvlink = true, .inside = 1920_Gbps, .algorithm = NcclAlgorithm::ring, .protocol = NcclProtocol::ll};
  const auto hop_us = [&](Bytes size) { return nccl_costs({}, nccl_choice({}, q, size)).nvlink.microseconds(); };
  // Ampere: 87.7 GB/s over 24 channels, 0.274 ns a byte of those that each rank gets, up to the 4 KiB of 512 threads.
  CHECK(hop_us(8_B) == doctest::Approx(0.6).epsilon(1e-3));
  CHECK(hop_us(16_KiB) == doctest::Approx(0.6 + 2048 * 0.024 / 87.7).epsilon(1e-6));
  CHECK(hop_us(32_KiB) == doctest::Approx(0.6 + 4096 * 0.024 / 87.7).epsilon(1e-6));
  CHECK(hop_us(1_MiB) == hop_us(32_KiB));
  q.inside = 3600_Gbps;  // Hopper
  CHECK(hop_us(32_KiB) == doctest::Approx(0.6).epsilon(1e-3));
  q.inside = 1200_Gbps;  // Volta
  CHECK(hop_us(32_KiB) == doctest::Approx(0.6 + 4096 * 0.012 / 39).epsilon(1e-6));
  q.inside = 1920_Gbps;
  q.collective = Collective::broadcast;  // whose threads take turns
  CHECK(hop_us(32_KiB) == doctest::Approx(0.6).epsilon(1e-3));
  q.collective = Collective::allreduce, q.ranks = 16, q.servers = 2, q.nics = 8, q.outside = 3200_Gbps;
  CHECK(nccl_choice({}, q, 32_KiB).pass == SimTime{});
}

TEST_CASE("nccl tuning: each channel that a call takes but the first costs what the profile says") {
  HardwareProfile profile;
  profile.nccl_channel = 1500_ns;
  NcclQuestion q{.ranks = 8, .nvlink = true, .inside = 1920_Gbps, .algorithm = NcclAlgorithm::ring, .protocol = NcclProtocol::ll};
  const auto added = [&](Bytes size) {
    const Regime regime = nccl_choice(profile, q, size);
    return nccl_costs(profile, regime).base - nccl_costs({}, regime).base;
  };
  // 512 threads with 8 bytes for each of 8 ranks: 32 KiB a channel, up to the 24 of NVLinks of 240 GB/s.
  CHECK(added(8_B) == 0_us);
  CHECK(added(63_KiB) == 0_us);
  CHECK(added(128_KiB) == 3 * 1500_ns);
  CHECK(added(767_KiB) == 22 * 1500_ns);
  CHECK(added(64_MiB) == 23 * 1500_ns);
  q.protocol = NcclProtocol::simple;  // 512 threads of 64 bytes
  CHECK(added(128_KiB) == 3 * 1500_ns);
  // Two servers with 8 NICs of 200 Gb/s each: 8 channels of 24 GB/s are found, and each is taken twice.
  q.ranks = 16, q.servers = 2, q.nics = 8, q.outside = 1600_Gbps;
  CHECK(added(64_MiB) == 15 * 1500_ns);
  q.collective = Collective::alltoall;
  CHECK(added(64_MiB) == 0_us);
}

TEST_CASE("nccl tuning: an all-to-all takes 5 us more for each rank on another server") {
  const auto base = [](Collective collective, int servers, double factor) {
    NcclQuestion q{.collective = collective, .ranks = 16, .servers = servers, .protocol = NcclProtocol::simple};
    if (servers > 1) q.outside = 100_Gbps;
    HardwareProfile profile;
    profile.nccl_peer = factor;
    return nccl_costs(profile, nccl_choice(profile, q, 1_KiB)).base;
  };
  CHECK(base(Collective::alltoall, 1, 1) == 8400_ns);
  CHECK(base(Collective::alltoall, 2, 1) == 6600_ns + 40_us);  // and as long as LL besides
  CHECK(base(Collective::alltoall, 4, 2) == 6600_ns + 120_us);
  CHECK(base(Collective::allgather, 4, 2) == 8400_ns);
}

TEST_CASE("nccl tuning: an all-to-all takes LL for up to 16 KiB to each rank of a server, and between servers its latencies but never it") {
  NcclQuestion q{.collective = Collective::alltoall, .ranks = 8, .nvlink = true, .inside = 2400_Gbps};
  CHECK(nccl_choice({}, q, 128_KiB).protocol == NcclProtocol::ll);
  CHECK(nccl_choice({}, q, 128_KiB + 1_B).protocol == NcclProtocol::simple);
  q.servers = 2, q.outside = 400_Gbps;
  const Regime regime = nccl_choice({}, q, 8_B);
  CHECK(regime.protocol == NcclProtocol::simple);
  const NcclCosts costs = nccl_costs({}, regime);
  CHECK(costs.network == 2700_ns);
  CHECK(costs.efficiency == nccl_costs({}, {.protocol = NcclProtocol::simple}).efficiency);
  q.protocol = NcclProtocol::ll;  // NCCL_ALLOC_P2P_NET_LL_BUFFERS=1
  CHECK(nccl_choice({}, q, 8_B).protocol == NcclProtocol::ll);
}

TEST_CASE("nccl tuning: between servers messages that reach the profile's rendezvous_threshold take its rendezvous for each hop") {
  HardwareProfile plugin;
  plugin.rendezvous = 15_us, plugin.rendezvous_threshold = 8_KiB;
  NcclQuestion q = four_servers;  // of 4 GPUs and one NIC of 100 GB/s, for which NCCL takes eight channels
  q.protocol = NcclProtocol::simple, q.algorithm = NcclAlgorithm::tree;
  const auto network = [&](Bytes size) { return nccl_costs(plugin, nccl_choice(plugin, q, size)).network; };
  CHECK(network(8191_B) == 14_us);
  CHECK(network(8_KiB) == 29_us);  // a tree passes the whole message on
  q.algorithm = NcclAlgorithm::ring;
  CHECK(network(1023_KiB) == 14_us);  // a ring of 16 a sixteenth of it, an eighth of that on each channel
  CHECK(network(1_MiB) > 29_us);
  q.algorithm = NcclAlgorithm::nvls_tree, q.switch_adds = true;
  CHECK(network(8_KiB) == 10'700_ns + 15_us);
  q = one_server, q.algorithm = NcclAlgorithm::ring;
  CHECK(nccl_choice(plugin, q, 1_GiB).handshakes == 0);
  CHECK(plugin.in({.protocol = NcclProtocol::simple}).rendezvous == SimTime{});  // its messages inside servers make none
}

TEST_CASE("nccl tuning: with LL, half of whose bytes are flags, a NIC makes the handshakes of its channels one behind the other") {
  HardwareProfile plugin;
  plugin.rendezvous_threshold = 8_KiB;
  NcclQuestion q = four_servers;
  q.protocol = NcclProtocol::ll, q.algorithm = NcclAlgorithm::tree;
  const auto handshakes = [&](Bytes size) { return nccl_choice(plugin, q, size).handshakes; };
  CHECK(handshakes(4095_B) == 0);
  CHECK(handshakes(4_KiB) == 1);  // 8 KiB on the wire, of one channel: 512 threads of 8 bytes
  CHECK(handshakes(8_KiB) == 2);  // of two
  q.nics = 2;                     // each with four channels of its own
  CHECK(handshakes(8_KiB) == 1);
  CHECK(handshakes(12_KiB) == 2);
  CHECK(handshakes(1_MiB) == 2);  // however many
}

TEST_CASE("nccl tuning: each step of a ring waits for its handshakes where it sends more messages than have places, or for its bytes") {
  HardwareProfile plugin;
  plugin.rendezvous = 10_us, plugin.rendezvous_threshold = 2_KiB;
  NcclQuestion q = four_servers;  // of 4 GPUs and one NIC of 100 GB/s: 1 us for 100 kB
  q.algorithm = NcclAlgorithm::ring, q.protocol = NcclProtocol::ll;
  const auto handshakes = [&](Bytes size) { return nccl_choice(plugin, q, size).handshakes; };
  const auto of_steps = [](int steps, double each_us, double bytes) { return steps * (each_us - bytes / 16 / 100e3) / 10; };
  CHECK(handshakes(16'383_B) == 0);  // 1 KiB for each rank, twice that on the wire
  CHECK(handshakes(16_KiB) ==
        doctest::Approx(of_steps(4, 10, 16 << 10)).epsilon(1e-6));  // one channel, 4 steps for each hop of the network
  CHECK(handshakes(128_KiB) == doctest::Approx(of_steps(4, 20, 128 << 10)).epsilon(1e-6));  // two
  q.protocol = NcclProtocol::simple;
  CHECK(handshakes(4_MiB) == doctest::Approx(of_steps(4, 20, 4 << 20)).epsilon(1e-6));                  // of 8 channels 32 KiB each
  CHECK(handshakes(4_MiB + 256_B) == doctest::Approx(of_steps(4, 40, (4 << 20) + 256)).epsilon(1e-6));  // in two slices
  CHECK(handshakes(1_GiB) == 0);                                                                        // 671 us a step for the bytes
  q.outside = {2 * q.outside.count};  // more channels are found for it, and no more is paid
  CHECK(handshakes(4_MiB) <= 4 * 2);
  q.outside = four_servers.outside;
  q.collective = Collective::allgather, q.ranks = 8, q.servers = 2, q.protocol = NcclProtocol::ll;
  CHECK(handshakes(64_KiB) == 0);  // 7 messages, for each of which there is a place
  q.ranks = 16, q.servers = 4;
  CHECK(handshakes(16_KiB) > 0);  // 15
}

TEST_CASE("nccl tuning: a bias of LL128 is of calls between servers, in one of them NCCL takes it as its table says") {
  HardwareProfile without;
  without.ll128_bias = bias_of_none;
  CHECK(nccl_choice({}, four_servers, 1_MiB).protocol == NcclProtocol::ll128);
  CHECK(nccl_choice(without, four_servers, 1_MiB).protocol != NcclProtocol::ll128);
  const NcclQuestion one{.ranks = 8, .nvlink = true, .inside = 2400_Gbps};
  CHECK(nccl_choice({}, one, 4_MiB).protocol == NcclProtocol::ll128);
  CHECK(nccl_choice(without, one, 4_MiB).protocol == NcclProtocol::ll128);
}

TEST_CASE("nccl tuning: the published table regrets no choice, a profile in which the chosen protocol is slow does") {
  for (std::int64_t bytes = 8; bytes <= (1_GiB).count; bytes *= 4) CHECK(nccl_regret({}, four_servers, Bytes{bytes}) == 0);
  HardwareProfile slow;
  slow.ll_hops = 20;  // 8 B: a tree with LL, 6.8 + 20 * 23.6 us; with LL128 it would be 14 + 2 (3 * 1.25 + 2 * 8.5) = 55.5
  const double bytes_us = 16 / (100e3 * 0.25 * 0.92 * 4 / 3.8), of_ll128 = 16 / (100e3 * 0.92 * 0.92);
  CHECK(nccl_regret(slow, four_servers, 8_B) == doctest::Approx(std::log((478.8 + bytes_us) / (55.5 + of_ll128))).epsilon(1e-4));
  slow.ll_bias = 0.05;
  CHECK(nccl_regret(slow, four_servers, 8_B) == 0);
  slow.ll_bias = 1, slow.ll128_bias = bias_of_none;  // no LL128 between servers: a tree with Simple, 8.4 + 2 (3 * 4 + 2 * 14)
  CHECK(nccl_regret(slow, four_servers, 8_B) == doctest::Approx(std::log(478.8 / 88.4)).epsilon(1e-3));
  slow.ll128_bias = 1, slow.call_overhead = 1_ms;  // which is the same whatever is chosen
  CHECK(nccl_regret(slow, four_servers, 8_B) < 0.5);
}

TEST_CASE("nccl tuning: a server's only GPU waits for the whole hop between servers, in rings too") {
  Regime ring = of_four(NcclProtocol::ll, NcclAlgorithm::ring);
  CHECK(nccl_costs({}, ring).network == 2700_ns);
  ring.gpus = 1;
  CHECK(nccl_costs({}, ring).network == 5_us);
}

TEST_CASE("nccl tuning: a ring's hops inside servers take as long as launching those between them, a tree's and a single server's do not") {
  CHECK(nccl_costs({}, of_four(NcclProtocol::ll, NcclAlgorithm::ring)).nvlink == 1_us);
  CHECK(nccl_costs({}, of_four(NcclProtocol::simple, NcclAlgorithm::ring)).nvlink == 3400_ns);
  CHECK(nccl_costs({}, of_four(NcclProtocol::ll, NcclAlgorithm::tree)).nvlink == 600_ns);
  CHECK(nccl_costs({}, {.protocol = NcclProtocol::ll, .pattern = NcclAlgorithm::ring, .gpus = 8}).nvlink == 600_ns);
  HardwareProfile slow;
  slow.nccl_launch = 2;
  CHECK(nccl_costs(slow, of_four(NcclProtocol::ll, NcclAlgorithm::ring)).nvlink == 2_us);
  CHECK(nccl_costs(slow, of_four(NcclProtocol::simple, NcclAlgorithm::ring)).nvlink == 6_us);
  slow.ll_hops = 4;  // slower than any launch
  CHECK(nccl_costs(slow, of_four(NcclProtocol::ll, NcclAlgorithm::ring)).nvlink == 2400_ns);
}

TEST_CASE("nccl tuning: between servers LL takes longer for what the threads of a channel do at once, within one it does not") {
  NcclQuestion q = four_servers;
  q.algorithm = NcclAlgorithm::tree, q.protocol = NcclProtocol::ll;
  const auto network = [&](Bytes size) { return nccl_costs({}, nccl_choice({}, q, size)).network; };
  // 512 threads of 8 bytes at 45 GB/s / 16: 1.4564 us from 4 KiB on, half of it at 2 KiB.
  CHECK(network(2_KiB).microseconds() == doctest::Approx(5 + 2048 * 16 / 45e3));
  CHECK(network(4_KiB).microseconds() == doctest::Approx(5 + 4096 * 16 / 45e3));
  CHECK(network(1_MiB) == network(4_KiB));
  q.protocol = NcclProtocol::simple;
  CHECK(network(4_KiB) == network(8_B));
  q = one_server, q.protocol = NcclProtocol::ll;
  CHECK(nccl_choice({}, q, 64_KiB).longer == SimTime{});
}

TEST_CASE("nccl tuning: a tree runs at the part of its rate that NCCL expects of it at the size") {
  NcclQuestion q = four_servers;
  q.algorithm = NcclAlgorithm::tree, q.protocol = NcclProtocol::simple;
  const auto efficiency = [&](Bytes size) { return nccl_costs({}, nccl_choice({}, q, size)).efficiency; };
  q.nics = 8;  // of 12.5 GB/s, which a channel carries
  CHECK(efficiency(1_GiB) == doctest::Approx(0.92));
  CHECK(efficiency(1_MiB) == doctest::Approx(0.92 * 0.5));
  q.algorithm = NcclAlgorithm::ring;
  CHECK(efficiency(1_MiB) == 1);
}

TEST_CASE("nccl tuning: a message that LL does not cut goes round the ring by itself, and waits for no launch") {
  NcclQuestion q = four_servers;
  q.algorithm = NcclAlgorithm::ring, q.protocol = NcclProtocol::ll;
  CHECK(nccl_costs({}, nccl_choice({}, q, 768_B)).nvlink == 600_ns);
  CHECK(nccl_costs({}, nccl_choice({}, q, 769_B)).nvlink == 1_us);
  const SimTime least = nccl_costs({}, nccl_choice({}, q, 768_B)).network, more = nccl_costs({}, nccl_choice({}, q, 769_B)).network;
  CHECK(least == 2700_ns + SimTime{17'067});  // 48 B of each rank at 16 / 45 ns a byte
  CHECK(more - least < 1_ns);
  q.collective = Collective::allgather;  // every rank has a block
  CHECK(nccl_costs({}, nccl_choice({}, q, 768_B)).nvlink == 1_us);
}

TEST_CASE("nccl tuning: what a way is longer than InfiniBand's 2 us comes on top of a hop, twice with Simple") {
  NcclQuestion q = four_servers;
  q.way = 16_us, q.algorithm = NcclAlgorithm::tree, q.protocol = NcclProtocol::ll;
  CHECK(nccl_costs({}, nccl_choice({}, q, 8_B)).network == 5_us + 14_us + SimTime{2'844});  // 8 B take 2.8 ns
  q.protocol = NcclProtocol::simple;
  CHECK(nccl_costs({}, nccl_choice({}, q, 8_B)).network == 14_us + 28_us);
  q.way = 1500_ns;
  CHECK(nccl_costs({}, nccl_choice({}, q, 8_B)).network == 14_us);
}

TEST_CASE("nccl tuning: an NVSwitch that adds is used within a server, for large messages, by more than two GPUs") {
  CHECK(nccl_choice({}, one_server, 8_B).pattern == NcclAlgorithm::ring);
  const Regime large = nccl_choice({}, one_server, 256_MiB);
  CHECK(large.pattern == NcclAlgorithm::nvls);
  // 2 * 7/8 of the message on a ring's links, 9/8 with the switch: 14/9 times as much at 85 %.
  CHECK(nccl_costs({}, large).efficiency == 0.85);
  CHECK(nccl_costs({}, large).nvlink_gain == doctest::Approx(14.0 / 9));
  // And of a chunk, 64 KiB of 16 channels x 8 GPUs, two stages besides.
  CHECK(nccl_estimate({}, one_server, large, 256_MiB).microseconds() ==
        doctest::Approx(25 + (268.435456e6 + 2 * 16 * 8 * 65536) * 9 / 8 / (0.85 * 370.8e3)).epsilon(1e-6));
  NcclQuestion q = one_server;
  q.ranks = 2;
  CHECK(nccl_choice({}, q, 256_MiB).pattern != NcclAlgorithm::nvls);
  q = one_server, q.switch_adds = false;
  CHECK(nccl_choice({}, q, 256_MiB).pattern != NcclAlgorithm::nvls);
  q = one_server, q.collective = Collective::allgather;
  CHECK(nccl_choice({}, q, 256_MiB).pattern == NcclAlgorithm::ring);
  HardwareProfile without;
  without.nvls_bias = 0;
  CHECK(nccl_choice(without, one_server, 256_MiB).pattern != NcclAlgorithm::nvls);
  const NcclFactors factors{.hops = 2, .network = 1, .efficiency = 0.5};
  CHECK(nccl_costs(with_nccl_factors({}, large, factors), large).nvlink == 25_us);
  CHECK(nccl_costs(with_nccl_factors({}, large, factors), large).efficiency == 0.5);
}

TEST_CASE(
    "nccl tuning: between servers whose NVSwitches add, large messages take NVLSTree, which costs twice the way to the switch and trees") {
  NcclQuestion q{
      .ranks = 32, .servers = 4, .nvlink = true, .switch_adds = true, .nics = 8, .inside = one_server.inside, .outside = 3200_Gbps};
  const Regime large = nccl_choice({}, q, 512_MiB);
  CHECK(large.pattern == NcclAlgorithm::nvls_tree);
  CHECK(large.protocol == NcclProtocol::simple);
  CHECK(nccl_choice({}, q, 1_KiB).pattern != NcclAlgorithm::nvls_tree);
  // 25 us for the switch's sum and its copies, 2 log2 4 hops of 10.7 us; servers in the middle of a tree send every byte twice. A chunk,
  // 64 KiB of 16 channels x 8 GPUs, goes through three stages on NVLinks, each as long as 14/8 of it take at 14/9 * 0.85 of their rate, and
  // through two levels of the tree; all but one of these comes besides what the message takes.
  const auto turn = [](double kib) { return 16 * 8 * kib * 1024; };
  const double inside_us = 14.0 / 8 / (14.0 / 9 * 0.85) / 370'800, outside_us = 2 / 400e3;  // of a byte
  CHECK(nccl_estimate({}, q, large, 512_MiB).microseconds() ==
        doctest::Approx(25 + 4 * 10.7 + turn(64) * (3 * inside_us + outside_us) + 536.870912e6 * outside_us).epsilon(1e-6));
  // What a profile says of an NVSwitch holds between servers too.
  CHECK(nccl_costs({.nvls_efficiency = 0.5}, large).nvlink_gain == doctest::Approx(14.0 / 9 * 0.5));
  // Of two servers each sends every byte once, and the switches take longer.
  q.ranks = 16, q.servers = 2;
  CHECK(nccl_estimate({}, q, nccl_choice({}, q, 1_GiB), 1_GiB).microseconds() ==
        doctest::Approx(25 + 2 * 10.7 + turn(128) * (2 * inside_us + outside_us / 2) + 1073.741824e6 * inside_us).epsilon(1e-6));
  // Chunks become smaller where the message fills few turns: of 32 MiB they are of 64 KiB, of 4 MiB all of it goes at once.
  q.algorithm = NcclAlgorithm::nvls_tree;
  const auto fill_us = [&](Bytes size) { return nccl_choice({}, q, size).fill.microseconds(); };
  CHECK(fill_us(32_MiB) == doctest::Approx(turn(64) * (2 * inside_us + outside_us / 2)));
  CHECK(fill_us(4_MiB) == doctest::Approx(turn(32) * (2 * inside_us + outside_us / 2)));
  CHECK(fill_us(1_MiB) == doctest::Approx(fill_us(4_MiB) / 4));
  // NCCL itself counts on hops of 20.9 us, and on no turns.
  const Regime of_tree = nccl_choice({}, q, 1_GiB);
  CHECK(expected_time(q, {.protocol = NcclProtocol::simple, .pattern = of_tree.pattern, .gpus = 8}, Bytes{}) == 25_us + 2 * 20900_ns);
  // In one server the three stages are all there is, and of little chunks are of 16 KiB.
  NcclQuestion one = one_server;
  one.algorithm = NcclAlgorithm::nvls;
  const auto alone_us = [&](Bytes size) { return nccl_costs({}, nccl_choice({}, one, size)).base.microseconds(); };
  CHECK(alone_us(2_MiB) == doctest::Approx(turn(16) * 2 * inside_us));
  CHECK(alone_us(64_MiB) == doctest::Approx(turn(64) * 2 * inside_us));
  CHECK(alone_us(1_GiB) == doctest::Approx(turn(128) * 2 * inside_us));
  // On Blackwell of 24 channels, and the square of a turn after the first, of 64 KiB of them, is that of its bytes and of 14 us.
  one.inside = BitsPerSecond{8 * 720'000'000'000};
  const double blackwell_us = 9.0 / 8 / 0.85 / 720e3, turn_us = 24 * 8 * 65536 * blackwell_us, turns = 256.0 / 12;
  CHECK(nccl_estimate({}, one, nccl_choice({}, one, 256_MiB), 256_MiB).microseconds() ==
        doctest::Approx(25 + 3 * turn_us + (turns - 1) * std::hypot(turn_us, 14)).epsilon(1e-6));
  CHECK(alone_us(2_MiB) == doctest::Approx(2 * 2 * 1048576 * blackwell_us));  // less than one turn of 16 KiB
  q.algorithm = NcclAlgorithm::automatic;
  q.switch_adds = false;
  CHECK(nccl_choice({}, q, 1_GiB).pattern != NcclAlgorithm::nvls_tree);
}

TEST_CASE("nccl tuning: a call of one rank is launched, by NVLS as by rings and trees") {
  HardwareProfile slow;
  slow.simple_hops = 2;
  NcclQuestion q{.ranks = 1, .servers = 1, .switch_adds = true};
  for (const NcclAlgorithm algorithm : {NcclAlgorithm::ring, NcclAlgorithm::tree, NcclAlgorithm::nvls}) {
    CAPTURE(name_of(algorithm));
    q.algorithm = algorithm;
    CHECK(nccl_costs(slow, nccl_choice(slow, q, 1_KiB)).base > 5_us);
  }
  const Regime nvls = nccl_choice(slow, q, 1_GiB);
  CHECK(nccl_costs(slow, nvls).base == 50_us);
  CHECK(nccl_estimate(slow, q, nvls, 1_GiB) == 50_us);
}

TEST_CASE("nccl tuning: where switches between servers add, a call waits for the network once, half of it on the way up") {
  const auto of_eight = [](NcclAlgorithm pattern) {
    return Regime{.protocol = NcclProtocol::simple, .pattern = pattern, .between_servers = true, .gpus = 8, .nvlink = true};
  };
  const NcclCosts direct = nccl_costs({}, of_eight(NcclAlgorithm::collnet_direct));
  CHECK(direct.base == 0_us);
  CHECK(direct.network == 15500_ns);             // 31 us
  CHECK(direct.nvlink == 3700_ns + 7 * 400_ns);  // to seven others
  CHECK(direct.efficiency == 0.85);
  const NcclCosts chain = nccl_costs({}, of_eight(NcclAlgorithm::collnet_chain));
  CHECK(chain.network == 15_us);
  CHECK(chain.nvlink == 2800_ns);
  CHECK(chain.efficiency == 1);
  // Between servers NVLS costs what NVLSTree does, with 18 us of network instead of a tree's hops.
  const NcclCosts nvls = nccl_costs({}, of_eight(NcclAlgorithm::nvls));
  CHECK(nvls.network == 9_us);
  CHECK(nvls.nvlink == 12500_ns);
  CHECK(nvls.efficiency == 1);
  CHECK(nvls.nvlink_gain == doctest::Approx(14.0 / 9 * 0.85));
  // A server's only GPU waits for a tree's hop.
  Regime alone = of_eight(NcclAlgorithm::collnet_chain);
  alone.gpus = 1;
  CHECK(nccl_costs({}, alone).network == 7_us);
  // A way of 3 us is 1 us longer, waited for twice: once up and once down.
  NcclQuestion q{.ranks = 16, .servers = 2, .nvlink = true, .sharp = true, .outside = 3200_Gbps, .way = 3_us};
  q.algorithm = NcclAlgorithm::collnet_chain;
  CHECK(nccl_costs({}, nccl_choice({}, q, 1_MiB)).network == 16_us);
  HardwareProfile slow;
  slow.simple_hops = 2, slow.network_hops = 3, slow.simple_efficiency = 0.5;
  CHECK(nccl_costs(slow, of_eight(NcclAlgorithm::collnet_direct)).network == 6 * 15500_ns);
  CHECK(nccl_costs(slow, of_eight(NcclAlgorithm::collnet_direct)).efficiency == doctest::Approx(0.425));
  CHECK(nccl_factors(with_nccl_factors({}, of_eight(NcclAlgorithm::nvls), {.hops = 2}), of_eight(NcclAlgorithm::nvls)).hops == 2);
}

TEST_CASE("nccl tuning: CollNet's estimate is its latencies and twice the message on NVLinks, once on NICs") {
  NcclQuestion q{.ranks = 32,
                 .servers = 4,
                 .nvlink = true,
                 .switch_adds = true,
                 .sharp = true,
                 .nvlinks_join_all = true,
                 .nics = 8,
                 .inside = one_server.inside,
                 .outside = 3200_Gbps};
  const auto us = [&](NcclAlgorithm algorithm, Bytes size) {
    q.algorithm = algorithm;
    const Regime regime = nccl_choice({}, q, size);
    CHECK(regime.pattern == algorithm);
    CHECK(regime.protocol == NcclProtocol::simple);
    return nccl_estimate({}, q, regime, size).microseconds();
  };
  // 2 (3.7 + 7 * 0.4) + 31 = 44 us, and 14/8 of 1 GiB at 0.85 of 370.8 GB/s.
  CHECK(us(NcclAlgorithm::collnet_direct, 1_GiB) == doctest::Approx(44 + 1073.741824e6 * 14 / 8 / (0.85 * 370.8e3)).epsilon(1e-6));
  // 14 * 2.8 + 30 = 69.2 us, and twice 1 GiB.
  CHECK(us(NcclAlgorithm::collnet_chain, 1_GiB) == doctest::Approx(69.2 + 2 * 1073.741824e6 / 370.8e3).epsilon(1e-6));
  // NVLS: 25 + 18 us, and NCCL expects as much of the NICs as rings need. Besides the longest, a stage on NVLinks, a chunk of 128 KiB of 16
  // channels x 8 GPUs goes through two more of these and once through the switches between servers.
  const double fill = 16 * 8 * 131072 * (2 * 14.0 / 8 / (14.0 / 9 * 0.85 * 370.8e3) + 1 / 400e3);
  CHECK(us(NcclAlgorithm::nvls, 1_GiB) == doctest::Approx(43 + fill + 2 * 31.0 / 32 * 1073.741824e6 / 400e3).epsilon(1e-6));
  q.switch_adds = false;  // before Hopper NCCL expects all of the rate
  CHECK(us(NcclAlgorithm::collnet_direct, 1_GiB) == doctest::Approx(44 + 1073.741824e6 * 14 / 8 / 370.8e3).epsilon(1e-6));
  q.switch_adds = true;
  // Of 2 NICs for 8 GPUs CollNet direct takes (1 + 8/2) / 2 times as long as its NICs.
  q.nics = 2, q.outside = 800_Gbps;
  CHECK(us(NcclAlgorithm::collnet_direct, 1_GiB) == doctest::Approx(44 + 2.5 * 1073.741824e6 / (0.85 * 100e3)).epsilon(1e-6));
}

TEST_CASE("nccl tuning: CollNet is chosen where switches between servers add, direct only where an NVSwitch joins at most 8 GPUs") {
  NcclQuestion q{.ranks = 32,
                 .servers = 4,
                 .nvlink = true,
                 .switch_adds = true,
                 .sharp = true,
                 .nvlinks_join_all = true,
                 .nics = 8,
                 .inside = one_server.inside,
                 .outside = 3200_Gbps};
  CHECK(nccl_choice({}, q, 1_GiB).pattern == NcclAlgorithm::nvls);
  CHECK(nccl_choice({}, q, 8_B).pattern == NcclAlgorithm::tree);
  q.switch_adds = false, q.inside = 1920_Gbps;  // A100
  CHECK(nccl_choice({}, q, 64_MiB).pattern == NcclAlgorithm::collnet_direct);
  q.nvlinks_join_all = false;
  CHECK(nccl_choice({}, q, 64_MiB).pattern == NcclAlgorithm::collnet_chain);
  q.nvlinks_join_all = true, q.ranks = 64;  // 16 GPUs a server
  CHECK_FALSE(sharp_adds(nccl_choice({}, q, 64_MiB)));
  q.ranks = 32, q.sharp = false, q.switch_adds = true;
  for (std::int64_t bytes = 8; bytes <= (4_GiB).count; bytes *= 4) CHECK_FALSE(sharp_adds(nccl_choice({}, q, Bytes{bytes})));
  q.sharp = true, q.servers = 1, q.ranks = 8, q.outside = {};
  for (std::int64_t bytes = 8; bytes <= (4_GiB).count; bytes *= 4) CHECK_FALSE(sharp_adds(nccl_choice({}, q, Bytes{bytes})));
}

TEST_CASE("nccl tuning: small messages take few channels, so that each thread has work") {
  const auto channels = [](NcclProtocol protocol, NcclAlgorithm pattern, Bytes size) {
    return nccl_channels({protocol, pattern, true}, 64, size);
  };
  CHECK(channels(NcclProtocol::ll, NcclAlgorithm::ring, 128_KiB) == 1);  // 512 threads, 8 bytes for each of 64 ranks
  CHECK(channels(NcclProtocol::ll, NcclAlgorithm::ring, 1_MiB) == 4);
  CHECK(channels(NcclProtocol::ll, NcclAlgorithm::tree, 128_KiB) == 32);
  CHECK(channels(NcclProtocol::simple, NcclAlgorithm::ring, 128_KiB) == 4);  // 512 threads, 64 bytes
}

TEST_CASE("nccl tuning: a chain with LL passes on eight bytes of each thread at a time, of few threads where there are many ranks") {
  NcclQuestion q{.ranks = 128, .nvlink = true, .inside = 1920_Gbps};
  const auto us = [&](Bytes size) { return ll_chain_time(q, size).microseconds(); };
  // 64 KiB are less than 128, 256 and 512 threads have with 8 bytes for each of 128 ranks: 64 threads, 128 turns, of which a hop has one.
  CHECK(us(64_KiB) == doctest::Approx(127 * (0.43 + 0.17e-3 * 512)));
  CHECK(us(8_B) == 0);
  CHECK(ll_chain_turns(q, 64_KiB) == 128);
  CHECK(ll_chain_turns(q, 8_B) == 1);
  q.ranks = 8;
  CHECK(us(16_KiB) == doctest::Approx(7 * (0.43 + 0.17e-3 * 2048)));  // 256 threads
  CHECK(us(64_KiB) == doctest::Approx(7 * (0.43 + 0.17e-3 * 4096)));  // 512 of each of two channels
  q.inside = 1200_Gbps;
  CHECK(us(64_KiB) == doctest::Approx(7 * (0.95 + 0.17e-3 * 4096)));  // V100
}

TEST_CASE("nccl tuning: a chain with LL takes what the longer does, its threads' turns or its bytes") {
  NcclQuestion q{.collective = Collective::broadcast,
                 .ranks = 8,
                 .servers = 2,
                 .nvlink = true,
                 .nics = 1,
                 .inside = 1200_Gbps,
                 .outside = 100_Gbps,
                 .algorithm = NcclAlgorithm::ring,
                 .protocol = NcclProtocol::ll};
  HardwareProfile profile;
  // 1 MiB in turns of 4 KiB on each of the two channels that one NIC has: 127 of 1.65 us. At a quarter of 12.5 GB/s it takes 336 us.
  CHECK(ll_chain_time(q, 1_MiB).microseconds() == doctest::Approx(127 * (0.95 + 0.17e-3 * 4096)));
  CHECK(nccl_choice(profile, q, 1_MiB).turns.ps == 0);
  CHECK(nccl_choice(profile, q, 1_MiB).of_rate == 1);
  profile.ll_efficiency = 0.5;  // 168 us
  const Regime chosen = nccl_choice(profile, q, 1_MiB);
  CHECK(chosen.turns == ll_chain_time(q, 1_MiB));
  CHECK(chosen.of_rate > 100);
  const double latency_us = nccl_costs(profile, chosen).base.microseconds() + 6 * nccl_costs(profile, chosen).nvlink.microseconds() +
                            nccl_costs(profile, chosen).network.microseconds();
  CHECK(nccl_estimate(profile, q, chosen, 1_MiB).microseconds() == doctest::Approx(latency_us + chosen.turns.microseconds()).epsilon(0.01));
}

TEST_CASE("nccl tuning: what is given is kept, and other collectives have rings only") {
  NcclQuestion q = four_servers;
  q.algorithm = NcclAlgorithm::ring, q.protocol = NcclProtocol::ll;
  // A hop takes 4 KiB at 16 / 45 ns a byte longer.
  CHECK(nccl_choice({}, q, 1_GiB) == with_channels(of_four(NcclProtocol::ll, NcclAlgorithm::ring, SimTime{1'456'356}), 8));
  q = four_servers;
  q.collective = Collective::allgather;
  CHECK(nccl_choice({}, q, 8_B).pattern == NcclAlgorithm::ring);
}

TEST_CASE("nccl tuning: a profile's factors multiply the table, and a regime adds it to what the profile says") {
  HardwareProfile profile;
  profile.nccl_base = 0.5, profile.ll_hops = 2, profile.rail_overhead = 1_us;
  const HardwareProfile ll = profile.in({NcclProtocol::ll, NcclAlgorithm::ring, false});
  CHECK(ll.call_overhead == 3300_ns);
  CHECK(ll.nvlink_overhead == 1200_ns);
  CHECK(ll.pcie_overhead == 2_us);
  CHECK(ll.rail_overhead == 6400_ns);
  CHECK(ll.network_overhead == 5400_ns);
  CHECK(ll.wire_bytes(100) == 400);
  CHECK(profile.in({}).call_overhead == 0_us);
}

}  // namespace weft
