#include "models/nccl_testing.hpp"

#include <cmath>

#include <doctest/doctest.h>

namespace weft {

TEST_CASE("nccl tuning: small messages take LL and trees, large ones Simple and rings; LL128 needs NVLink") {
  CHECK(nccl_choice({}, four_servers, 256_B) == of_four(NcclProtocol::ll, NcclAlgorithm::tree, SimTime{91'022}));
  // 4 channels of 24 GB/s fill the NICs, and each is taken twice.
  Regime large = with_channels(of_four(NcclProtocol::simple, NcclAlgorithm::ring), 8);
  large.own = Bytes{(1_GiB).count / four_servers.ranks};
  CHECK(nccl_choice({}, four_servers, 1_GiB) == large);
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

TEST_CASE("nccl tuning: a bias of LL128 is of calls between servers, in one of them NCCL takes it as its table says") {
  HardwareProfile without;
  without.ll128_bias = bias_of_none;
  CHECK(nccl_choice({}, four_servers, 1_MiB).protocol == NcclProtocol::ll128);
  CHECK(nccl_choice(without, four_servers, 1_MiB).protocol != NcclProtocol::ll128);
  const NcclQuestion one{.ranks = 8, .nvlink = true, .inside = 2400_Gbps};
  CHECK(nccl_choice({}, one, 4_MiB).protocol == NcclProtocol::ll128);
  CHECK(nccl_choice(without, one, 4_MiB).protocol == NcclProtocol::ll128);
}

TEST_CASE("nccl tuning: biases that were fitted between servers say nothing of calls in one server, and the other way round") {
  const NcclQuestion one{.ranks = 8, .nvlink = true, .inside = 2400_Gbps};
  HardwareProfile without;  // 8 B go with LL
  without.ll_bias = bias_of_none;
  const auto has_ll = [&](const NcclQuestion& q) { return nccl_choice(without, q, 8_B).protocol == NcclProtocol::ll; };
  CHECK_FALSE(has_ll(one));
  CHECK_FALSE(has_ll(four_servers));
  without.biases_of = BiasesOf::calls_between_servers;
  CHECK(has_ll(one));
  CHECK_FALSE(has_ll(four_servers));
  without.biases_of = BiasesOf::calls_in_a_server;
  CHECK_FALSE(has_ll(one));
  CHECK(has_ll(four_servers));
}

TEST_CASE("nccl tuning: the published table regrets no choice, a profile in which the chosen protocol is slow does") {
  for (std::int64_t bytes = 8; bytes <= (1_GiB).count; bytes *= 4) CHECK(nccl_regret({}, four_servers, Bytes{bytes}).log_ratio == 0);
  HardwareProfile slow;
  slow.ll_hops = 20;  // 8 B: a tree with LL, 6.8 + 20 * 23.6 us; with LL128 it would be 14 + 2 (3 * 1.25 + 2 * 8.5) = 55.5
  const double bytes_us = 16 / (100e3 * 0.25 * 0.92 * 4 / 3.8), of_ll128 = 16 / (100e3 * 0.92 * 0.92);
  CHECK(nccl_regret(slow, four_servers, 8_B).log_ratio == doctest::Approx(std::log((478.8 + bytes_us) / (55.5 + of_ll128))).epsilon(1e-4));
  slow.ll_bias = 0.05;
  CHECK(nccl_regret(slow, four_servers, 8_B).log_ratio == 0);
  slow.ll_bias = 1, slow.ll128_bias = bias_of_none;  // no LL128 between servers: a tree with Simple, 8.4 + 2 (3 * 4 + 2 * 14)
  CHECK(nccl_regret(slow, four_servers, 8_B).log_ratio == doctest::Approx(std::log(478.8 / 88.4)).epsilon(1e-3));
  slow.ll128_bias = 1, slow.call_overhead = 1_ms;  // which is the same whatever is chosen
  CHECK(nccl_regret(slow, four_servers, 8_B).log_ratio < 0.5);
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

TEST_CASE("nccl tuning: CollNet is chosen where switches between servers add, direct only where an NVSwitch joins at most 8 GPUs") {
  NcclQuestion q = servers_with_sharp;
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

TEST_CASE("nccl tuning: what is given is kept, and other collectives have rings only") {
  NcclQuestion q = four_servers;
  q.algorithm = NcclAlgorithm::ring, q.protocol = NcclProtocol::ll;
  // A hop takes 4 KiB at 16 / 45 ns a byte longer.
  Regime given = with_channels(of_four(NcclProtocol::ll, NcclAlgorithm::ring, SimTime{1'456'356}), 8);
  given.own = Bytes{(1_GiB).count / q.ranks};
  CHECK(nccl_choice({}, q, 1_GiB) == given);
  q = four_servers;
  q.collective = Collective::allgather;
  CHECK(nccl_choice({}, q, 8_B).pattern == NcclAlgorithm::ring);
}

}  // namespace weft
