#include "models/nccl_testing.hpp"

#include <cmath>

#include <doctest/doctest.h>

namespace weft {

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

TEST_CASE("nccl tuning: a tree's part of its rate goes evenly from one power of two to the next, which NCCL expects in steps") {
  NcclQuestion q{.ranks = 8,
                 .servers = 2,
                 .nvlink = true,
                 .nics = 4,
                 .inside = 2400_Gbps,
                 .outside = 800_Gbps,
                 .algorithm = NcclAlgorithm::tree,
                 .protocol = NcclProtocol::simple};
  const auto of_rate = [&](Bytes size) { return nccl_choice({}, q, size).of_rate; };
  const double at_1 = of_rate(1_MiB), at_2 = of_rate(2_MiB);
  REQUIRE(at_2 != at_1);
  CHECK(of_rate(Bytes{(1 << 20) + 4}) == doctest::Approx(at_1).epsilon(1e-5));
  CHECK(of_rate(Bytes{(2 << 20) - 4}) == doctest::Approx(at_2).epsilon(1e-5));
  CHECK(of_rate(Bytes{std::llround(std::sqrt(2.0) * (1 << 20))}) == doctest::Approx((at_1 + at_2) / 2).epsilon(1e-5));
  for (const Regime& regime : nccl_regimes(q, Bytes{(2 << 20) - 4})) CHECK(regime.of_rate == nccl_regimes(q, 1_MiB).front().of_rate);
  CHECK(of_rate(8_B) == of_rate(64_B));
  CHECK(of_rate(4_GiB) == of_rate(8_GiB));
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

}  // namespace weft
