#include "collectives/libraries/mpi.hpp"

#include "collectives/registry/registry.hpp"

#include <doctest/doctest.h>

namespace weft {
namespace {

struct Boundary {
  Collective collective;
  int ranks;
  Bytes size;
  const char* below;
  const char* from;
};

// chain(8KiB), two_level(ring, up halving_gather)
std::string chosen_by(MpiLibrary library, const MpiQuestion& q) {
  const MpiChoice c = mpi_choice(library, q);
  std::string out(c.algorithm);
  if (c.segment.count > 0) out += fmt::format("({})", to_string(c.segment));
  if (!c.inner.empty())
    out += fmt::format("({}{}{})", c.inner, c.up.empty() ? "" : fmt::format(", up {}", c.up),
                       c.down.empty() ? "" : fmt::format(", down {}", c.down));
  return out;
}

void check_boundaries(MpiLibrary library, int group, std::initializer_list<Boundary> boundaries) {
  for (const Boundary& b : boundaries) {
    CAPTURE(name_of(b.collective));
    CAPTURE(b.ranks);
    CAPTURE(b.size.count);
    CHECK(chosen_by(library, {b.collective, b.ranks, b.size - 1_B, group}) == b.below);
    CHECK(chosen_by(library, {b.collective, b.ranks, b.size, group}) == b.from);
  }
}

}  // namespace

TEST_CASE("mpi chooses as the fixed rules of Open MPI's tuned do, at the boundaries of ranks and sizes") {
  check_boundaries(MpiLibrary::open_mpi, 0,
                   {
                       {Collective::allreduce, 3, 4_KiB, "recursive_doubling", "ring"},
                       {Collective::allreduce, 3, 256_KiB, "ring", "halving_doubling"},
                       {Collective::allreduce, 15, 8_KiB, "recursive_doubling", "halving_doubling"},
                       {Collective::allreduce, 16, 4_KiB, "recursive_doubling", "halving_doubling"},
                       {Collective::allreduce, 32, 128_B, "recursive_doubling", "halving_doubling"},
                       {Collective::allreduce, 127, 256_KiB, "recursive_doubling", "halving_doubling"},
                       {Collective::allreduce, 128, 128_KiB, "two_level", "recursive_doubling"},
                       {Collective::allreduce, 511, 4_KiB, "two_level", "halving_doubling"},
                       {Collective::allreduce, 4096, 32_KiB, "recursive_doubling", "halving_doubling"},
                       {Collective::reduce_scatter, 31, 256_KiB, "halving_doubling", "ring"},
                       {Collective::reduce_scatter, 32, 512_KiB, "halving_doubling", "ring"},
                       {Collective::allgather, 32, 32 * 1_KiB, "recursive_doubling", "neighbour_exchange"},  // one rank's block is of 1 KiB
                       {Collective::allgather, 33, 33 * 1_KiB, "bruck", "ring"},  // not for every number of ranks
                       {Collective::allgather, 64, 64 * 64_KiB, "neighbour_exchange", "ring"},
                       {Collective::broadcast, 7, 1_MiB, "direct", "chain"},
                       {Collective::broadcast, 31, 1_MiB, "binomial_tree_at_once", "scatter_doubling"},
                       {Collective::broadcast, 63, 2_KiB, "binomial_tree_at_once", "knomial_tree"},
                       {Collective::reduce, 8, 8_KiB, "binary_tree", "neighbour_tree"},
                       {Collective::alltoall, 64, 64 * 1_KiB, "bruck", "direct"},
                       {Collective::alltoall, 64, 64 * 256_KiB, "direct", "pairwise"},
                   });
  CHECK(chosen_by(MpiLibrary::open_mpi, {Collective::barrier, 7}) == "two_level");
  CHECK(chosen_by(MpiLibrary::open_mpi, {Collective::barrier, 8}) == "dissemination");
}

TEST_CASE("mpi chooses as Open MPI did before 4.1, by limits and by lines of ranks over size") {
  check_boundaries(
      MpiLibrary::open_mpi_4_0, 0,
      {
          {Collective::allreduce, 64, Bytes{10'000}, "recursive_doubling", "ring"},
          {Collective::allreduce, 3000, Bytes{12'001}, "two_level", "ring"},  // 3001 elements of 4 bytes are more than the ranks
          {Collective::reduce_scatter, 64, 256_KiB + 1_B, "halving_doubling", "ring"},
          {Collective::reduce_scatter, 63, Bytes{45'834}, "halving_doubling", "ring"},  // (63 - 8) / 0.0012 = 45,833.3
          {Collective::allgather, 64, Bytes{50'000}, "recursive_doubling", "neighbour_exchange"},
          {Collective::allgather, 63, Bytes{50'000}, "bruck", "ring"},
          {Collective::broadcast, 16, 2_KiB, "binomial_tree_at_once", "binary_tree(1KiB)"},
          {Collective::broadcast, 16, Bytes{370'728}, "binary_tree(1KiB)", "chain(8KiB)"},
          {Collective::broadcast, 16, Bytes{2'243'727}, "chain(8KiB)", "chain(16KiB)"},    // (16 - 8.7936) / 3.2118e-6 = 2,243,726.3
          {Collective::broadcast, 16, Bytes{6'259'260}, "chain(16KiB)", "chain(64KiB)"},   // (16 - 1.1787) / 2.3679e-6
          {Collective::broadcast, 16, Bytes{8'609'025}, "chain(64KiB)", "chain(128KiB)"},  // (16 - 2.1102) / 1.6134e-6
          {Collective::broadcast, 12, Bytes{6'129'789}, "binary_tree(8KiB)", "chain(128KiB)"},
          {Collective::reduce, 7, 512_B, "direct", "neighbour_tree"},
          {Collective::reduce, 16, 2_KiB, "neighbour_tree", "neighbour_tree(1KiB)"},
          {Collective::reduce, 16, Bytes{24'937}, "neighbour_tree(1KiB)", "chain(1KiB)"},
          {Collective::reduce, 16, Bytes{157'027}, "chain(1KiB)", "binary_tree(32KiB)"},
          {Collective::reduce, 16, Bytes{360'065}, "binary_tree(32KiB)", "chain(32KiB)"},
          {Collective::reduce, 16, Bytes{4'444'750}, "chain(32KiB)", "chain(64KiB)"},
          {Collective::alltoall, 64, 64 * 200_B, "bruck", "direct"},
          {Collective::alltoall, 64, 64 * Bytes{3'000}, "direct", "pairwise"},
      });
  CHECK(chosen_by(MpiLibrary::open_mpi_4_0, {Collective::barrier, 7}) == "dissemination");
}

TEST_CASE("mpi chooses as MPICH does, among all ranks or among the leaders of hosts") {
  check_boundaries(MpiLibrary::mpich, 0,
                   {
                       {Collective::allreduce, 64, 2_KiB + 1_B, "recursive_doubling", "halving_doubling"},
                       {Collective::allreduce, 1024, 4_KiB, "recursive_doubling", "halving_doubling"},  // an element of 4 bytes for each
                       {Collective::reduce_scatter, 64, 512_KiB, "halving_doubling", "pairwise"},
                       {Collective::allgather, 64, 512_KiB, "recursive_doubling", "ring"},
                       {Collective::allgather, 63, 80_KiB, "bruck", "ring"},
                       {Collective::broadcast, 64, 12_KiB, "binomial_tree", "scatter_doubling"},
                       {Collective::broadcast, 64, 512_KiB, "scatter_doubling", "scatter_allgather"},
                       {Collective::broadcast, 63, 12_KiB, "binomial_tree", "scatter_allgather"},
                       {Collective::reduce, 64, 2_KiB + 1_B, "binomial_tree", "halving_gather"},
                       {Collective::alltoall, 8, 8 * 257_B, "bruck", "direct"},
                       {Collective::alltoall, 7, 7 * (32_KiB + 1_B), "direct", "pairwise"},
                   });
  CHECK(chosen_by(MpiLibrary::mpich, {Collective::broadcast, 7, 1_MiB}) == "binomial_tree");
  check_boundaries(
      MpiLibrary::mpich, 8,
      {
          {Collective::allreduce, 64, 2_KiB + 1_B, "two_level(recursive_doubling)", "two_level(halving_doubling, up halving_gather)"},
          {Collective::allreduce, 64, 12_KiB, "two_level(halving_doubling, up halving_gather)",
           "two_level(halving_doubling, up halving_gather, down scatter_doubling)"},
          {Collective::allreduce, 64, 512_KiB, "two_level(halving_doubling, up halving_gather, down scatter_doubling)",
           "two_level(halving_doubling, up halving_gather, down scatter_allgather)"},
          {Collective::broadcast, 64, 12_KiB, "two_level(binomial_tree)", "two_level(scatter_doubling, down scatter_doubling)"},
          {Collective::broadcast, 64, 512_KiB, "two_level(scatter_doubling, down scatter_doubling)", "scatter_allgather"},
          {Collective::reduce, 64, 2_KiB + 1_B, "two_level(binomial_tree)", "two_level(halving_gather, up halving_gather)"},
          {Collective::allgather, 64, 512_KiB, "recursive_doubling", "ring"},
          {Collective::alltoall, 64, 64 * 257_B, "bruck", "direct"},
      });
  CHECK(chosen_by(MpiLibrary::mpich, {Collective::barrier, 64, 0_B, 8}) == "two_level(dissemination)");
  CHECK(chosen_by(MpiLibrary::mpich, {Collective::barrier, 8, 0_B, 8}) == "dissemination");  // on one host
}

TEST_CASE("mpi chooses leaders for Intel MPI's all-reduces and broadcasts over several hosts, and otherwise as MPICH does") {
  check_boundaries(MpiLibrary::intel_mpi, 8,
                   {
                       {Collective::allreduce, 64, 12_KiB, "two_level(recursive_doubling)",
                        "two_level(halving_doubling, up halving_gather, down scatter_doubling)"},
                   });
  for (const Bytes size : {4_B, 64_KiB, 256_MiB}) {
    CHECK(chosen_by(MpiLibrary::intel_mpi, {Collective::broadcast, 64, size, 8}) == "two_level(binomial_tree)");
    for (const MpiQuestion& q :
         {MpiQuestion{Collective::allreduce, 64, size, 0}, {Collective::allreduce, 8, size, 8}, {Collective::alltoall, 64, size, 8}})
      CHECK(chosen_by(MpiLibrary::intel_mpi, q) == chosen_by(MpiLibrary::mpich, q));
  }
}

TEST_CASE("every choice of mpi is an algorithm that takes so many ranks") {
  for (const Algorithm& a : algorithms()) {
    if (a.name != "mpi") continue;
    for (const int ranks : {1, 2, 3, 4, 7, 8, 13, 16, 31, 32, 63, 100, 128, 255, 256, 511, 600, 1024, 2047, 2048, 4096})
      for (const AlgorithmSettings& settings : {AlgorithmSettings{},
                                                {.library = MpiLibrary::open_mpi_4_0},
                                                {.library = MpiLibrary::mpich},
                                                {.group = ranks % 4 == 0 ? 4 : 1, .library = MpiLibrary::mpich},
                                                {.group = ranks % 4 == 0 ? 4 : 1, .library = MpiLibrary::intel_mpi}})
        for (std::int64_t size = 0; size < std::int64_t{1} << 40; size = std::max<std::int64_t>(1, 2 * size)) {
          const Request chosen =
              a.chooses({.collective = a.collective, .algorithm = "mpi", .ranks = ranks, .settings = settings}, Bytes{size});
          CAPTURE(name_of(a.collective));
          CAPTURE(chosen.algorithm);
          CAPTURE(ranks);
          CHECK(constraints(chosen).empty());
        }
  }
}

}  // namespace weft
