#include "models/nccl_tuning.hpp"

#include <doctest/doctest.h>

namespace weft {
namespace {

// 4 servers of 4 GPUs on NVLink, 100 GB/s of NICs each.
constexpr NcclQuestion four_servers = {.ranks = 16, .servers = 4, .nvlink = true, .outside = 800_Gbps};

}  // namespace

TEST_CASE("nccl tuning: the estimate is the table's latencies plus the bytes at the protocol's part of the rate") {
  // Ring, Simple: 8.4 + 24 hops of 3.4 and 6 of 14 us = 174 us; 2 * 15/16 * 512 MiB at 100 GB/s = 10066.32960 us.
  const SimTime ring = nccl_estimate({}, four_servers, {NcclProtocol::simple, NcclAlgorithm::ring, true}, 512_MiB);
  CHECK(ring.microseconds() == doctest::Approx(174 + 10066.3296).epsilon(1e-9));
  // Ring, LL: 6.6 + 24 * 0.6 * 1.8 + 6 * 2.7 = 48.72; 2 * 15/16 * 256 B at 25 GB/s = 0.0192.
  const SimTime small = nccl_estimate({}, four_servers, {NcclProtocol::ll, NcclAlgorithm::ring, true}, 256_B);
  CHECK(small.microseconds() == doctest::Approx(48.72 + 0.0192).epsilon(1e-6));
  // Tree, LL: 6.8 + 2 (3 * 0.6 * 1.8 + 2 * 5.0) = 33.28; 2 * 256 B at 0.25 * 0.92 * 4/3.8 of it.
  const SimTime tree = nccl_estimate({}, four_servers, {NcclProtocol::ll, NcclAlgorithm::tree, true}, 256_B);
  CHECK(tree.microseconds() == doctest::Approx(33.28 + 512 / (100e3 * 0.25 * 0.92 * 4 / 3.8)).epsilon(1e-6));
}

TEST_CASE("nccl tuning: small messages take LL and trees, large ones Simple and rings; LL128 needs NVLink") {
  CHECK(nccl_choice({}, four_servers, 256_B) == Regime{NcclProtocol::ll, NcclAlgorithm::tree, true});
  CHECK(nccl_choice({}, four_servers, 1_GiB) == Regime{NcclProtocol::simple, NcclAlgorithm::ring, true});
  const auto protocols = [](bool nvlink) {
    bool ll128 = false;
    NcclQuestion q = four_servers;
    q.nvlink = nvlink;
    for (std::int64_t bytes = 8; bytes <= (1_GiB).count; bytes *= 2)
      ll128 |= nccl_choice({}, q, Bytes{bytes}).protocol == NcclProtocol::ll128;
    return ll128;
  };
  CHECK(protocols(true));
  CHECK_FALSE(protocols(false));
}

TEST_CASE("nccl tuning: what is fitted to calls changes what they cost, not what NCCL chooses; a bias does") {
  HardwareProfile fitted;
  fitted.ll_hops = 5, fitted.simple_efficiency = 0.2, fitted.network_hops = 3;
  for (std::int64_t bytes = 8; bytes <= (1_GiB).count; bytes *= 4)
    CHECK(nccl_choice(fitted, four_servers, Bytes{bytes}) == nccl_choice({}, four_servers, Bytes{bytes}));
  fitted.tree_bias = 0.1;
  CHECK(nccl_choice(fitted, four_servers, 256_B).pattern == NcclAlgorithm::ring);
}

TEST_CASE("nccl tuning: between two servers a tree sends every byte once each way, so that it goes with large messages too") {
  NcclQuestion q = four_servers;
  q.servers = 2, q.inside = 2400_Gbps;
  CHECK(nccl_choice({}, q, 1_GiB).pattern == NcclAlgorithm::tree);
  CHECK(nccl_choice({}, four_servers, 1_GiB).pattern == NcclAlgorithm::ring);
}

TEST_CASE("nccl tuning: factors that are taken from a profile and given to another make the same costs") {
  HardwareProfile from;
  from.ll128_hops = 2, from.network_hops = 3, from.ll128_efficiency = 0.5, from.tree_efficiency = 0.8;
  const Regime tree{NcclProtocol::ll128, NcclAlgorithm::tree, true};
  const NcclCosts want = nccl_costs(from, tree), got = nccl_costs(with_nccl_factors({}, tree, nccl_factors(from, tree)), tree);
  CHECK(got.network == want.network);
  CHECK(got.nvlink == want.nvlink);
  CHECK(got.efficiency == doctest::Approx(want.efficiency));
}

TEST_CASE("nccl tuning: what is given is kept, and other collectives have rings only") {
  NcclQuestion q = four_servers;
  q.algorithm = NcclAlgorithm::ring, q.protocol = NcclProtocol::ll;
  CHECK(nccl_choice({}, q, 1_GiB) == Regime{NcclProtocol::ll, NcclAlgorithm::ring, true});
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
