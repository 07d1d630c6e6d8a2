#include "models/nccl_expectation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

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

// A row of what NCCL printed: of which cluster, of what, and its latency in microseconds and rate in GB/s.
struct Printed {
  NcclQuestion question;
  Regime regime;
  std::string algorithm;
  double latency_us = 0, rate = 0;
};

std::vector<Printed> printed_by_nccl() {
  const auto one_of = [](const std::string& name, const auto& names) {
    const auto at = std::ranges::find(names, name);
    CHECK(at != names.end());
    return static_cast<int>(at - names.begin());
  };
  const std::array<std::string, 5> collectives = {"allreduce", "allgather", "reduce_scatter", "broadcast", "reduce"};
  constexpr std::array kinds = {Collective::allreduce, Collective::allgather, Collective::reduce_scatter, Collective::broadcast,
                                Collective::reduce};
  const std::array<std::string, 6> algorithms = {"ring", "tree", "nvls", "nvls_tree", "collnet_direct", "collnet_chain"};
  constexpr std::array patterns = {NcclAlgorithm::ring,      NcclAlgorithm::tree,           NcclAlgorithm::nvls,
                                   NcclAlgorithm::nvls_tree, NcclAlgorithm::collnet_direct, NcclAlgorithm::collnet_chain};
  const std::array<std::string, 3> protocols = {"ll", "ll128", "simple"};
  constexpr std::array by_name = {NcclProtocol::ll, NcclProtocol::ll128, NcclProtocol::simple};

  std::ifstream file(WEFT_NCCL_TABLES);
  std::string line;
  std::getline(file, line);
  std::vector<Printed> out;
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    REQUIRE(cells.size() == 14);
    const auto number = [&](std::size_t i) { return std::stod(cells[i]); };
    const int servers = std::stoi(cells[0]), gpus = std::stoi(cells[1]), nics = std::stoi(cells[2]);
    Printed p;
    p.question = {.collective = kinds.at(static_cast<std::size_t>(one_of(cells[9], collectives))),
                  .ranks = servers * gpus,
                  .servers = servers,
                  .nvlink = true,
                  .switch_adds = cells[5] == "1",
                  .sharp = cells[7] == "1",
                  .nvlinks_join_all = true,
                  .nics = nics,
                  .amd = cells[6] == "1",
                  .several_ways = cells[8] == "1",
                  .inside = BitsPerSecond{gpus == 1 ? 0 : std::llround(8e9 * number(4))},
                  .outside = BitsPerSecond{servers == 1 ? 0 : std::llround(1e9 * nics * number(3))}};
    p.algorithm = cells[10];
    p.regime = {.protocol = by_name.at(static_cast<std::size_t>(one_of(cells[11], protocols))),
                .pattern = patterns.at(static_cast<std::size_t>(one_of(cells[10], algorithms))),
                .between_servers = servers > 1,
                .gpus = gpus,
                .nvlink = true};
    p.latency_us = number(12), p.rate = number(13);
    out.push_back(p);
  }
  return out;
}

NcclExpectation expected(NcclQuestion q, NcclAlgorithm pattern, NcclProtocol protocol) {
  return expected_by_nccl(
      q, {.protocol = protocol, .pattern = pattern, .between_servers = q.servers > 1, .gpus = q.ranks / q.servers, .nvlink = q.nvlink});
}

}  // namespace

TEST_CASE("nccl expectation: channels have the fastest of NCCL's speeds that fill the NICs, and trees of two servers a faster one inside") {
  check_channels(two_servers(8, 200_Gbps, of_a100), 8, 24, 30);   // 25 GB/s of a NIC; eight times 30 is all that NVLinks have
  check_channels(two_servers(8, 100_Gbps, of_a100), 8, 12, 24);   // twice the rate outside is enough
  check_channels(two_servers(8, 400_Gbps, of_h100), 8, 48, 48);   // each GPU sends on seven of eight, the last to its NIC
  check_channels(two_servers(4, 400_Gbps, of_h100), 8, 24, 45);   // few channels are split; without a NIC a GPU sends on all
  check_channels(two_servers(8, 400_Gbps, of_a100), 10, 24, 24);  // NVLinks hold five of 48, which are split
  check_channels(two_servers(1, 800_Gbps, of_a100), 4, 24, 48);   // two channels of 48 share a NIC
  check_channels(two_servers(2, 10_Gbps, of_a100), 2, 1.2, 2.4);
  check_channels(two_servers(2, BitsPerSecond{800'000'000}, of_a100), 2, 0.1, 0.1);
  check_channels(two_servers(8, 95_Gbps, of_h100), 32, 2.4, 6);  // 9 of 1.2 fill a NIC better, but these would be 72 channels
  NcclQuestion more = two_servers(8, 200_Gbps, of_a100);
  more.servers = 4, more.ranks = 32;
  check_channels(more, 8, 24, 30);
  more.servers = 1;
  check_channels(more, 12, 20, 20);
}

TEST_CASE("nccl expectation: latencies and rates are those that NCCL 2.28.9 prints of 40 clusters") {
  // What the search finds differently: for trees of one server of Blackwell 16 channels of 40 GB/s, where rings have 16 of 45; and two NICs
  // below one socket count as one where a broadcast's hops are counted. Gathers and scatters go on rings only here.
  const auto is_other = [](const Printed& p) {
    const NcclQuestion& q = p.question;
    if (q.servers == 1 && q.inside > 5600_Gbps && p.algorithm == "tree") return true;
    if (q.servers == 2 && q.nics == 2 && (q.collective == Collective::broadcast || q.collective == Collective::reduce)) return true;
    return q.collective != Collective::allreduce && p.algorithm != "ring";
  };
  int compared = 0;
  for (const Printed& p : printed_by_nccl()) {
    if (is_other(p)) continue;
    CAPTURE(p.question.servers);
    CAPTURE(p.question.ranks);
    CAPTURE(p.question.nics);
    CAPTURE(p.question.inside.count);
    CAPTURE(static_cast<int>(p.question.collective));
    CAPTURE(p.algorithm);
    CAPTURE(static_cast<int>(p.regime.protocol));
    const NcclExpectation expected = expected_by_nccl(p.question, p.regime);
    CHECK(std::abs(expected.latency_us - p.latency_us) < 0.0501);  // printed with one digit behind the point
    CHECK(std::abs(expected.rate - p.rate) < 0.0501 + 0.01 * p.rate);
    ++compared;
  }
  CHECK(compared > 700);
}

TEST_CASE("nccl expectation: rings of more than a few bytes take 1.4 times their latency between servers with Simple, 1.9 on V100") {
  NcclQuestion q = two_servers(8, 200_Gbps, of_a100);
  const Regime simple{.protocol = NcclProtocol::simple, .pattern = NcclAlgorithm::ring, .between_servers = true, .gpus = 8, .nvlink = true};
  const NcclExpectation of_a_ring = expected(q, NcclAlgorithm::ring, NcclProtocol::simple);
  // 64 bytes for each of 16 ranks on each of 16 channels, twice those that the search finds.
  const Bytes few = 16_KiB - 1_B, more = 16_KiB;
  CHECK(expected_time(q, simple, few).microseconds() == doctest::Approx(of_a_ring.latency_us + 16383 / of_a_ring.rate / 1e3));
  CHECK(expected_time(q, simple, more).microseconds() == doctest::Approx(1.4 * of_a_ring.latency_us + 16384 / of_a_ring.rate / 1e3));
  q.inside = BitsPerSecond{8 * 120'000'000'000};
  const NcclExpectation of_v100 = expected(q, NcclAlgorithm::ring, NcclProtocol::simple);
  CHECK(expected_time(q, simple, 1_MiB).microseconds() == doctest::Approx(1.9 * of_v100.latency_us + 1048576 / of_v100.rate / 1e3));
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
