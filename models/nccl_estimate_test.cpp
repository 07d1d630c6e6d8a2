#include "models/nccl_expectation.hpp"
#include "models/nccl_testing.hpp"

#include <doctest/doctest.h>

namespace weft {

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

TEST_CASE("nccl tuning: on a slow network each hop between servers takes longer, in any protocol") {
  HardwareProfile profile;
  profile.nccl_hop = 9_us;
  NcclQuestion q{.ranks = 16, .servers = 2, .nvlink = true, .nics = 8, .inside = 1920_Gbps, .outside = 1600_Gbps};
  for (const NcclAlgorithm pattern : {NcclAlgorithm::ring, NcclAlgorithm::tree})
    for (const NcclProtocol protocol : {NcclProtocol::ll, NcclProtocol::ll128, NcclProtocol::simple}) {
      q.algorithm = pattern, q.protocol = protocol;
      const Regime regime = nccl_choice(profile, q, 8_B);
      const NcclCosts with = nccl_costs(profile, regime);
      CHECK(with.network - nccl_costs({}, regime).network == 9_us);
      CHECK(with.base == nccl_costs({}, regime).base);
      CHECK(nccl_costs(with_nccl_factors(profile, regime, nccl_factors(profile, regime)), regime).network == with.network);
    }
}

TEST_CASE("nccl tuning: an all-to-all takes 5 us more for each rank on another server, 0.8 us more and 0.3 us for each on its own") {
  const auto base = [](Collective collective, int servers, double factor) {
    NcclQuestion q{.collective = collective, .ranks = 16, .servers = servers, .protocol = NcclProtocol::simple};
    if (servers > 1) q.outside = 100_Gbps;
    HardwareProfile profile;
    profile.nccl_peer = factor;
    return nccl_costs(profile, nccl_choice(profile, q, 1_KiB)).base;
  };
  CHECK(base(Collective::alltoall, 1, 1) == 8400_ns + 800_ns + 4500_ns);
  CHECK(base(Collective::alltoall, 2, 1) == 6600_ns + 40_us + 800_ns + 2100_ns);  // and as long as LL besides
  CHECK(base(Collective::alltoall, 4, 2) == 6600_ns + 120_us + 800_ns + 900_ns);
  CHECK(base(Collective::allgather, 4, 2) == 8400_ns);
}

TEST_CASE("nccl tuning: a rank of a ring or an all-to-all copies its own part while its links wait") {
  HardwareProfile profile;
  profile.nccl_own_rate = 800_Gbps;
  const auto longer = [&](Collective collective, int ranks, NcclAlgorithm pattern = NcclAlgorithm::ring) {
    NcclQuestion q{.collective = collective, .ranks = ranks, .nvlink = true, .algorithm = pattern, .protocol = NcclProtocol::simple};
    const Regime regime = nccl_choice(profile, q, Bytes{80'000'000});
    return nccl_costs(profile, regime).base - nccl_costs({}, regime).base;
  };
  for (const Collective collective : {Collective::allreduce, Collective::allgather, Collective::reduce_scatter, Collective::alltoall}) {
    CHECK(longer(collective, 2) == 400_us);  // 40 MB at 100 GB/s
    CHECK(longer(collective, 8) == 100_us);
  }
  CHECK(longer(Collective::broadcast, 8) == SimTime{});
  CHECK(longer(Collective::allreduce, 8, NcclAlgorithm::tree) == SimTime{});
}

TEST_CASE("nccl tuning: Simple begins later than the table says by what the profile has for it") {
  HardwareProfile profile;
  profile.simple_base = 20_us;
  for (const NcclProtocol protocol : {NcclProtocol::ll, NcclProtocol::ll128, NcclProtocol::simple}) {
    const Regime regime{.protocol = protocol, .gpus = 8, .nvlink = true};
    CHECK(nccl_costs(profile, regime).base - nccl_costs({}, regime).base == (protocol == NcclProtocol::simple ? 20_us : SimTime{}));
  }
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

TEST_CASE("nccl tuning: what a way is longer than InfiniBand's 2 us comes on top of a hop, twice with Simple") {
  NcclQuestion q = four_servers;
  q.way = 16_us, q.algorithm = NcclAlgorithm::tree, q.protocol = NcclProtocol::ll;
  CHECK(nccl_costs({}, nccl_choice({}, q, 8_B)).network == 5_us + 14_us + SimTime{2'844});  // 8 B take 2.8 ns
  q.protocol = NcclProtocol::simple;
  CHECK(nccl_costs({}, nccl_choice({}, q, 8_B)).network == 14_us + 28_us);
  q.way = 1500_ns;
  CHECK(nccl_costs({}, nccl_choice({}, q, 8_B)).network == 14_us);
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
  NcclQuestion q = servers_with_sharp;
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
