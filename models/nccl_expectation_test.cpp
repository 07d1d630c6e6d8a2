#include "models/nccl_expectation.hpp"

#include <doctest/doctest.h>

namespace weft {
namespace {

constexpr BitsPerSecond of_a100{8 * 240'000'000'000}, of_h100{8 * 370'800'000'000};

// Two servers of eight GPUs, with so many NICs of this rate.
NcclQuestion two_servers(int nics, BitsPerSecond rate, BitsPerSecond inside) {
  return {.ranks = 16, .servers = 2, .nvlink = true, .nics = nics, .inside = inside, .outside = BitsPerSecond{nics * rate.count}};
}

void check_channels(const NcclQuestion& q, int count, double outside, double inside) {
  const NcclChannels found = channels_found(q);
  CHECK(found.count == count);
  CHECK(found.outside == outside);
  CHECK(found.inside == inside);
}

double expected_efficiency(const NcclQuestion& q, NcclAlgorithm pattern, NcclProtocol protocol) {
  const Regime regime{.protocol = protocol, .pattern = pattern, .between_servers = true, .gpus = q.ranks / q.servers, .nvlink = q.nvlink};
  return nccl_costs(expected_by_nccl(q, regime).profile, regime).efficiency;
}

}  // namespace

TEST_CASE("nccl expectation: channels have the fastest of NCCL's speeds that fill the NICs, and trees of two servers a faster one inside") {
  check_channels(two_servers(8, 200_Gbps, of_a100), 8, 24, 30);   // 25 GB/s of a NIC; eight times 30 is all that NVLinks have
  check_channels(two_servers(8, 100_Gbps, of_a100), 8, 12, 24);   // twice the rate outside is enough
  check_channels(two_servers(8, 400_Gbps, of_h100), 8, 45, 45);   // eight times 48 is more than NVLinks have
  check_channels(two_servers(4, 400_Gbps, of_h100), 8, 24, 45);   // few channels are split
  check_channels(two_servers(8, 400_Gbps, of_a100), 10, 24, 24);  // before Hopper many are, too; NVLinks hold five of 48
  check_channels(two_servers(1, 800_Gbps, of_a100), 4, 24, 48);   // two channels of 48 share a NIC
  check_channels(two_servers(2, 10_Gbps, of_a100), 2, 1.2, 2.4);
  check_channels(two_servers(2, BitsPerSecond{800'000'000}, of_a100), 2, 0.1, 0.1);
  check_channels(two_servers(8, 95_Gbps, of_h100), 32, 2.4, 6);  // 9 of 1.2 fill a NIC better, but these would be 72 channels
  NcclQuestion more = two_servers(8, 200_Gbps, of_a100);
  more.servers = 4, more.ranks = 32;
  check_channels(more, 8, 24, 24);
  more.servers = 1;
  CHECK(channels_found(more).count == 0);
}

TEST_CASE("nccl expectation: trees and LL128 get at most what was measured of a channel") {
  const NcclQuestion q = two_servers(8, 200_Gbps, of_a100);
  const auto of = [&](NcclAlgorithm pattern, NcclProtocol protocol) { return expected_efficiency(q, pattern, protocol); };
  // Of 192 GB/s; a tree between two servers sends every byte once each way, where NCCL counts 2 of them.
  CHECK(of(NcclAlgorithm::ring, NcclProtocol::simple) == 1);
  CHECK(of(NcclAlgorithm::ring, NcclProtocol::ll128) == doctest::Approx(20.0 / 24));
  CHECK(of(NcclAlgorithm::tree, NcclProtocol::simple) == doctest::Approx(23.6 / 48));
  CHECK(of(NcclAlgorithm::tree, NcclProtocol::ll128) == doctest::Approx(20.0 / 48));
  CHECK(of(NcclAlgorithm::ring, NcclProtocol::ll) == doctest::Approx(39.0 / 192));
  CHECK(of(NcclAlgorithm::tree, NcclProtocol::ll) == doctest::Approx(39.0 / 384));
  // One GPU a server: a chain, which NCCL takes for 0.85 of that.
  NcclQuestion single{.ranks = 2, .servers = 2, .nvlink = true, .outside = 100_Gbps};
  CHECK(expected_efficiency(single, NcclAlgorithm::tree, NcclProtocol::simple) == doctest::Approx(0.85 * 0.92 * 24 / 24));
}

TEST_CASE("nccl expectation: of a chain one hop is counted where channels go the same way, else one between servers for each rank") {
  NcclQuestion q{
      .collective = Collective::broadcast, .ranks = 128, .servers = 16, .nvlink = true, .nics = 4, .inside = of_a100, .outside = 800_Gbps};
  const auto expected_us = [&](NcclProtocol protocol) {
    const Regime regime{.protocol = protocol, .pattern = NcclAlgorithm::ring, .between_servers = q.servers > 1, .nvlink = true};
    const NcclExpectation expected = expected_by_nccl(q, regime);
    return nccl_estimate(expected.profile, expected.question, regime, 0_B).microseconds();
  };
  CHECK(expected_us(NcclProtocol::ll) == doctest::Approx(6.6 + 128 * 2.7));
  CHECK(expected_us(NcclProtocol::simple) == doctest::Approx(8.4 + 128 * 14.0));
  q.nics = 1;
  CHECK(expected_us(NcclProtocol::ll) == doctest::Approx(6.6 + 2.7));
  q.servers = 1, q.ranks = 8, q.outside = {};
  CHECK(expected_us(NcclProtocol::ll) == doctest::Approx(6.6 + 0.6));
}

TEST_CASE("nccl expectation: LL128 and trees run between servers at no more than their channels get") {
  const auto efficiency = [](NcclQuestion q, NcclAlgorithm pattern, NcclProtocol protocol) {
    q.algorithm = pattern, q.protocol = protocol;
    return nccl_costs({}, nccl_choice({}, q, 1_GiB)).efficiency;
  };
  // A channel of 24 GB/s would give a ring 0.92 of them, and one of 30 inside a tree 0.92 of those, of which LL128 has 120 of 128 bytes.
  const NcclQuestion a100 = two_servers(8, 200_Gbps, of_a100);
  CHECK(efficiency(a100, NcclAlgorithm::ring, NcclProtocol::ll128) == doctest::Approx(0.92 * 20 / (0.92 * 24)));
  CHECK(efficiency(a100, NcclAlgorithm::ring, NcclProtocol::simple) == 1);
  CHECK(efficiency(a100, NcclAlgorithm::tree, NcclProtocol::simple) == doctest::Approx(0.92 * 23.6 / (0.92 * 30)));
  CHECK(efficiency(a100, NcclAlgorithm::tree, NcclProtocol::ll128) == doctest::Approx(0.92 * 0.92 * 20 / (0.92 * 30 * 0.9375)));
  // Blackwell: 24 GB/s of 0.92 * 48 on more than two servers.
  NcclQuestion b200 = two_servers(8, 400_Gbps, BitsPerSecond{8 * 721'800'000'000});
  b200.servers = 8, b200.ranks = 64;
  CHECK(efficiency(b200, NcclAlgorithm::tree, NcclProtocol::simple) == doctest::Approx(24.0 / 48));
  // Slow NICs do not come to it.
  CHECK(efficiency(two_servers(8, 100_Gbps, of_a100), NcclAlgorithm::tree, NcclProtocol::simple) == 0.92);
}

TEST_CASE("nccl expectation: between two servers NCCL takes a ring for large messages where a tree's channels cannot use the NICs") {
  // A100: a ring 192 GB/s * 16 / 30, a tree 8 * 23.6 / 2; with NICs of half the rate 96 * 16 / 30 and 8 * 0.92 * 24 / 2.
  CHECK(nccl_choice({}, two_servers(8, 200_Gbps, of_a100), 1_GiB).pattern == NcclAlgorithm::ring);
  CHECK(nccl_choice({}, two_servers(8, 100_Gbps, of_a100), 1_GiB).pattern == NcclAlgorithm::tree);
  // H100: 360 * 16 / 30 and 8 * 41.4 / 2.
  CHECK(nccl_choice({}, two_servers(8, 400_Gbps, of_h100), 1_GiB).pattern == NcclAlgorithm::ring);
}

}  // namespace weft
