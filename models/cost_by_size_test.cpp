#include "models/cost_by_size.hpp"

#include "models/message_costs.hpp"

#include <cmath>

#include <doctest/doctest.h>

using namespace weft;

TEST_CASE("cost by size: factors follow straight lines of logarithms between sizes and between numbers of ranks, and end as they are") {
  const std::vector<CostAtSize> known = {{"allreduce", "ring", 4, 1_KiB, 1.0},
                                         {"allreduce", "ring", 4, 4_KiB, 4.0},
                                         {"allreduce", "ring", 16, 1_KiB, 2.0},
                                         {"allreduce", "ring", 16, 4_KiB, 4.0}};
  const auto factor = [&](int ranks, Bytes size) { return CostsBySize(known).factor({"allreduce", "ring", ranks, size}); };
  CHECK(factor(4, 1_KiB) == doctest::Approx(1));
  CHECK(factor(4, 2_KiB) == doctest::Approx(2));                 // half of the way to 4, in logarithms
  CHECK(factor(4, 8_B) == doctest::Approx(1));                   // as at 1 KiB
  CHECK(factor(4, 1_GiB) == doctest::Approx(4));                 // as at 4 KiB
  CHECK(factor(8, 1_KiB) == doctest::Approx(std::sqrt(2.0)));    // half of the way from 4 to 16 ranks
  CHECK(factor(256, 2_KiB) == doctest::Approx(std::sqrt(8.0)));  // as at 16 ranks
  CHECK(factor(2, 2_KiB) == doctest::Approx(2));                 // as at 4 ranks
  CHECK(CostsBySize(known).factor({"allreduce", "nccl_ring_ll", 4, 1_KiB}) == 1);
  CHECK(CostsBySize().factor({"allreduce", "ring", 4, 1_KiB}) == 1);
}

TEST_CASE("cost by size: calls in one server have factors of such calls, calls between servers those of the nearest number of servers") {
  const std::vector<CostAtSize> known = {
      {"allreduce", "ring", 8, 1_KiB, 2.0, 1}, {"allreduce", "ring", 8, 1_KiB, 3.0, 2}, {"allreduce", "ring", 8, 1_KiB, 5.0, 8}};
  const auto factor = [&](int ranks, int servers) { return CostsBySize(known).factor({"allreduce", "ring", ranks, 1_KiB, servers}); };
  CHECK(factor(8, 1) == doctest::Approx(2));
  CHECK(factor(4, 1) == doctest::Approx(2));
  CHECK(factor(8, 2) == doctest::Approx(3));
  CHECK(factor(8, 3) == doctest::Approx(3));
  CHECK(factor(64, 64) == doctest::Approx(5));
  CHECK(CostsBySize({known.front()}).factor({"allreduce", "ring", 16, 1_KiB, 2}) == doctest::Approx(2));  // where nothing else is known
  CHECK(CostsBySize({{"allreduce", "ring", 8, 1_KiB, 4.0}}).factor({"allreduce", "ring", 8, 1_KiB, 1}) == doctest::Approx(4));
}

TEST_CASE("cost by size: NCCL's calls are known by pattern and protocol") {
  const std::vector<CostAtSize> known = {{"allreduce", "nccl_ring", 8, 1_KiB, 2.0}, {"allreduce", "nccl_ring_ll", 8, 1_KiB, 3.0}};
  CHECK(CostsBySize(known).factor({"allreduce", "nccl_ring_ll", 8, 1_KiB}) == doctest::Approx(3));
  CHECK(CostsBySize(known).factor({"allreduce", "nccl_ring_simple", 8, 1_KiB}) == doctest::Approx(2));  // the pattern's
  CHECK(with_protocol("nccl", "nvls_tree", "simple") == "nccl_nvls_tree_simple");
  CHECK(without_protocol("nccl_nvls_tree_simple") == "nccl_nvls_tree");
  CHECK(without_protocol("recursive_doubling") == "recursive_doubling");
}

TEST_CASE("cost by size: in a regime that costs twice as much all times double and all rates halve, of messages by their costs") {
  HardwareProfile profile;
  profile.send_overhead = 1_us, profile.rail_overhead = 3_us, profile.reduce_rate = 8_Gbps;
  const HardwareProfile twice = profile.in({.cost = 2});
  CHECK(twice.reduce_rate == 4_Gbps);
  CHECK(MessageCosts(twice).of(twice.send_overhead, 100) == 2_us);
  CHECK(MessageCosts(twice).wire_bytes(twice, 100) == 200);
  const HardwareProfile half = profile.in({.cost = 0.5});
  CHECK(MessageCosts(half).of(half.send_overhead, 100) == 500_ns);
  CHECK(MessageCosts(half).wire_bytes(half, 100) == 100);  // no faster than the wire
  // Times what messages of a size cost by themselves.
  profile.cost_by_size = {{"message", "message", 2, 1_KiB, 3.0}};
  CHECK(MessageCosts(profile.in({.cost = 2})).factor(1024) == doctest::Approx(6));
}

TEST_CASE("cost by size: of calls of NCCL overheads and rates themselves") {
  HardwareProfile profile;
  profile.send_overhead = 1_us, profile.reduce_rate = 8_Gbps, profile.nccl_base = 0, profile.simple_hops = 0;
  const HardwareProfile twice = profile.in({.protocol = NcclProtocol::simple, .cost = 2});
  CHECK(twice.send_overhead == 2_us);
  CHECK(twice.reduce_rate == 4_Gbps);
  CHECK(twice.wire_bytes(100) == 200);
  CHECK(MessageCosts(twice).none());
}
