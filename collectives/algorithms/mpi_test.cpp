#include "collectives/algorithms/mpi.hpp"

#include "collectives/algorithms/registry.hpp"

#include <doctest/doctest.h>

namespace weft {

TEST_CASE("mpi chooses as the fixed rules of Open MPI's tuned do, at the boundaries of ranks and sizes") {
  struct Boundary {
    Collective collective;
    int ranks;
    Bytes size;
    const char* below;
    const char* from;
  };
  for (const Boundary& b : {
           Boundary{Collective::allreduce, 3, 4_KiB, "recursive_doubling", "ring"},
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
           {Collective::allgather, 33, 33 * 1_KiB, "bruck", "ring"},                             // not for every number of ranks
           {Collective::allgather, 64, 64 * 64_KiB, "neighbour_exchange", "ring"},
           {Collective::broadcast, 7, 1_MiB, "direct", "chain"},
           {Collective::broadcast, 31, 1_MiB, "binomial_tree", "scatter_doubling"},
           {Collective::broadcast, 63, 2_KiB, "binomial_tree", "knomial_tree"},
           {Collective::reduce, 8, 8_KiB, "binary_tree", "neighbour_tree"},
           {Collective::alltoall, 64, 64 * 1_KiB, "bruck", "direct"},
           {Collective::alltoall, 64, 64 * 256_KiB, "direct", "pairwise"},
       }) {
    CAPTURE(name_of(b.collective));
    CAPTURE(b.ranks);
    CAPTURE(b.size.count);
    CHECK(mpi_algorithm(b.collective, b.ranks, b.size - 1_B) == b.below);
    CHECK(mpi_algorithm(b.collective, b.ranks, b.size) == b.from);
  }
  CHECK(mpi_algorithm(Collective::barrier, 7, 0_B) == "two_level");
  CHECK(mpi_algorithm(Collective::barrier, 8, 0_B) == "dissemination");
}

TEST_CASE("every choice of mpi is an algorithm that takes so many ranks") {
  for (const Algorithm& a : algorithms()) {
    if (a.name != "mpi") continue;
    for (const int ranks : {1, 2, 3, 4, 7, 8, 13, 16, 31, 32, 63, 100, 128, 255, 256, 511, 600, 1024, 2047, 2048, 4096})
      for (std::int64_t size = 0; size < std::int64_t{1} << 40; size = std::max<std::int64_t>(1, 2 * size)) {
        const Request chosen = a.chooses({.collective = a.collective, .algorithm = "mpi", .ranks = ranks}, Bytes{size});
        CAPTURE(name_of(a.collective));
        CAPTURE(chosen.algorithm);
        CAPTURE(ranks);
        CHECK(constraints(chosen).empty());
      }
  }
}

}  // namespace weft
