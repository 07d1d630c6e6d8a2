#include "collectives/libraries/mpi.hpp"

#include "collectives/algorithms/fold.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace weft {
namespace {

constexpr int any_ranks = std::numeric_limits<int>::max();
constexpr Bytes any_size{std::numeric_limits<std::int64_t>::max()};

struct BelowSize {
  Bytes size;
  std::string_view algorithm;
};
struct BelowRanks {
  int ranks;
  std::vector<BelowSize> sizes;
};
using Rules = std::vector<BelowRanks>;

const Rules& allreduce_rules() {
  constexpr std::string_view doubling = "recursive_doubling", halving = "halving_doubling", two = "two_level";
  static const Rules rules = {
      {4, {{4_KiB, doubling}, {8_KiB, "ring"}, {16_KiB, doubling}, {256_KiB, "ring"}, {any_size, halving}}},
      {16, {{8_KiB, doubling}, {any_size, halving}}},
      {32, {{4_KiB, doubling}, {any_size, halving}}},
      {64, {{128_B, doubling}, {any_size, halving}}},
      {128, {{256_KiB, doubling}, {any_size, halving}}},
      {256, {{128_KiB, two}, {256_KiB, doubling}, {any_size, halving}}},
      {512, {{4_KiB, two}, {any_size, halving}}},
      {4096, {{2_KiB, two}, {16_KiB, doubling}, {any_size, halving}}},
      {any_ranks, {{2_KiB, two}, {32_KiB, doubling}, {any_size, halving}}},
  };
  return rules;
}

const Rules& reduce_scatter_rules() {
  constexpr std::string_view halving = "halving_doubling";
  static const Rules rules = {
      {4, {{64_KiB, "ring"}, {128_KiB, halving}, {any_size, "ring"}}},
      {32, {{256_KiB, halving}, {any_size, "ring"}}},
      {64, {{512_KiB, halving}, {any_size, "ring"}}},
      {any_ranks, {{any_size, halving}}},
  };
  return rules;
}

// Bytes of a block.
const Rules& allgather_rules() {
  constexpr std::string_view doubling = "recursive_doubling", exchange = "neighbour_exchange", bruck = "bruck", ring = "ring";
  static const Rules rules = {
      {32, {{any_size, doubling}}},
      {64, {{1_KiB, doubling}, {64_KiB, exchange}, {any_size, ring}}},
      {128, {{512_B, doubling}, {64_KiB, exchange}, {any_size, ring}}},
      {256, {{512_B, doubling}, {128_KiB, exchange}, {512_KiB, ring}, {1_MiB, exchange}, {any_size, ring}}},
      {512,
       {{32_B, doubling}, {128_B, bruck}, {1_KiB, doubling}, {128_KiB, exchange}, {512_KiB, ring}, {1_MiB, exchange}, {any_size, ring}}},
      {1024, {{64_B, doubling}, {256_B, bruck}, {2_KiB, doubling}, {any_size, exchange}}},
      {2048,
       {{4_B, doubling},
        {8_B, bruck},
        {16_B, doubling},
        {32_B, bruck},
        {256_B, doubling},
        {512_B, bruck},
        {4_KiB, doubling},
        {any_size, exchange}}},
      {4096, {{32_B, bruck}, {128_B, doubling}, {512_B, bruck}, {4_KiB, doubling}, {any_size, exchange}}},
      {any_ranks, {{2_B, doubling}, {8_B, bruck}, {16_B, doubling}, {512_B, bruck}, {4_KiB, doubling}, {any_size, exchange}}},
  };
  return rules;
}

const Rules& broadcast_rules() {
  constexpr std::string_view knomial = "knomial_tree", binary = "binary_tree", binomial = "binomial_tree_at_once", chain = "chain",
                             linear = "direct", scattered = "scatter_doubling";
  static const Rules rules = {
      {4,
       {{32_B, chain},
        {256_B, binary},
        {512_B, chain},
        {1_KiB, knomial},
        {32_KiB, linear},
        {128_KiB, binary},
        {256_KiB, chain},
        {512_KiB, linear},
        {1_MiB, binomial},
        {any_size, binary}}},
      {8, {{64_B, binary}, {128_B, binomial}, {2_KiB, binary}, {8_KiB, binomial}, {1_MiB, linear}, {any_size, chain}}},
      {16, {{8_B, knomial}, {64_B, binary}, {4_KiB, knomial}, {16_KiB, binary}, {32_KiB, binomial}, {any_size, linear}}},
      {32, {{4_KiB, knomial}, {1_MiB, binomial}, {any_size, scattered}}},
      {64, {{2_KiB, binomial}, {any_size, knomial}}},
      {128, {{any_size, knomial}}},
      {256, {{2_B, binomial}, {16_KiB, binary}, {32_KiB, linear}, {64_KiB, binary}, {any_size, knomial}}},
      {1024, {{16_KiB, knomial}, {32_KiB, binary}, {any_size, knomial}}},
      {2048, {{512_KiB, knomial}, {any_size, scattered}}},
      {4096, {{256_KiB, knomial}, {any_size, scattered}}},
      {any_ranks, {{8_KiB, knomial}, {16_KiB, binary}, {256_KiB, knomial}, {any_size, scattered}}},
  };
  return rules;
}

const Rules& reduce_rules() {
  constexpr std::string_view binomial = "neighbour_tree", binary = "binary_tree", chain = "chain", linear = "direct";
  static const Rules rules = {
      {4, {{8_B, linear}, {16_B, binary}, {32_B, chain}, {256_KiB, linear}, {any_size, chain}}},
      {8, {{4_KiB, binary}, {64_KiB, chain}, {256_KiB, binomial}, {512_KiB, linear}, {1_MiB, binomial}, {any_size, linear}}},
      {16, {{8_KiB, binary}, {any_size, binomial}}},
      {32, {{4_KiB, binary}, {any_size, binomial}}},
      {256, {{any_size, binomial}}},
      {512, {{8_KiB, binomial}, {16_KiB, binary}, {any_size, binomial}}},
      {2048, {{any_size, binomial}}},
      {4096, {{512_B, binomial}, {1_KiB, binary}, {8_KiB, binomial}, {16_KiB, binary}, {any_size, binomial}}},
      {any_ranks,
       {{16_B, binomial}, {32_B, binary}, {1_KiB, binomial}, {2_KiB, binary}, {8_KiB, binomial}, {16_KiB, binary}, {any_size, binomial}}},
  };
  return rules;
}

// Bytes of a block.
const Rules& alltoall_rules() {
  constexpr std::string_view bruck = "bruck", linear = "direct", pairwise = "pairwise";
  static const Rules rules = {
      {3, {{any_size, pairwise}}},
      {8, {{512_KiB, linear}, {1_MiB, pairwise}, {any_size, linear}}},
      {16, {{any_size, linear}}},
      {32, {{4_B, linear}, {512_B, bruck}, {any_size, linear}}},
      {64, {{512_B, bruck}, {any_size, linear}}},
      {256, {{1_KiB, bruck}, {256_KiB, linear}, {any_size, pairwise}}},
      {512, {{1_KiB, bruck}, {32_KiB, linear}, {any_size, pairwise}}},
      {1024, {{512_B, bruck}, {256_KiB, linear}, {any_size, pairwise}}},
      {2048, {{512_B, bruck}, {any_size, linear}}},
      {4096, {{1_KiB, bruck}, {any_size, linear}}},
      {any_ranks, {{2_KiB, bruck}, {any_size, linear}}},
  };
  return rules;
}

const Rules& barrier_rules() {
  constexpr std::string_view dissemination = "dissemination", tree = "two_level";
  static const Rules rules = {
      {4, {{any_size, dissemination}}},    {8, {{any_size, tree}}},    {256, {{any_size, dissemination}}},       {512, {{any_size, tree}}},
      {1024, {{any_size, dissemination}}}, {4096, {{any_size, tree}}}, {any_ranks, {{any_size, dissemination}}},
  };
  return rules;
}

const Rules& rules_of(Collective collective) {
  switch (collective) {
    case Collective::allreduce:
      return allreduce_rules();
    case Collective::reduce_scatter:
      return reduce_scatter_rules();
    case Collective::allgather:
      return allgather_rules();
    case Collective::broadcast:
      return broadcast_rules();
    case Collective::reduce:
      return reduce_rules();
    case Collective::alltoall:
      return alltoall_rules();
    case Collective::barrier:
      break;
  }
  return barrier_rules();
}

}  // namespace

MpiChoice open_mpi_choice(const MpiQuestion& q) {
  const bool of_blocks = q.collective == Collective::allgather || q.collective == Collective::alltoall;
  const Bytes counted = of_blocks ? Bytes{q.size.count / q.ranks} : q.size;
  // The last of either has no end.
  const Rules& rules = rules_of(q.collective);
  const auto& sizes = std::ranges::find_if(rules.begin(), rules.end() - 1, [&](const BelowRanks& r) { return q.ranks < r.ranks; })->sizes;
  const std::string_view name =
      std::ranges::find_if(sizes.begin(), sizes.end() - 1, [&](const BelowSize& b) { return counted < b.size; })->algorithm;
  if (q.collective != Collective::allgather) return {name};
  if (name == "recursive_doubling" && !is_power_of_two(q.ranks)) return {"bruck"};
  return {name == "neighbour_exchange" && q.ranks % 2 == 1 ? "ring" : name};
}

std::string_view name_of(MpiLibrary library) {
  switch (library) {
    case MpiLibrary::open_mpi:
      return "open_mpi";
    case MpiLibrary::open_mpi_4_0:
      return "open_mpi_4.0";
    case MpiLibrary::mpich:
      return "mpich";
    case MpiLibrary::intel_mpi:
      return "intel_mpi";
  }
  return "";
}

MpiChoice mpi_choice(MpiLibrary library, const MpiQuestion& q) {
  switch (library) {
    case MpiLibrary::open_mpi:
      break;
    case MpiLibrary::open_mpi_4_0:
      return open_mpi_4_0_choice(q);
    case MpiLibrary::mpich:
      return mpich_choice(q);
    case MpiLibrary::intel_mpi:
      return intel_mpi_choice(q);
  }
  return open_mpi_choice(q);
}

}  // namespace weft
