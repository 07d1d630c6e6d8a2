#include "validation/measurements/nccl_testing.hpp"

#include <doctest/doctest.h>

using namespace weft;

TEST_CASE("nccl-tests: the collective is known by the program's name, wherever it stands above the rows") {
  for (const std::string above : {"$ mpirun -np 2 ./build/all_reduce_perf -b 8 -e 8\n", "+ srun /opt/nccl-tests/all_reduce_perf_mpi -b 8\n",
                                  "# Collective test starting: all_reduce_perf\n"}) {
    CAPTURE(above);
    CHECK(parse_nccl(run_of(above, 2)).rows[0].collective == "allreduce");
  }
}

TEST_CASE("nccl-tests: where a script with several programs stands above the rows, the columns say whose they are") {
  const std::string both = "srun ./all_reduce_perf -b 8\nsrun ./all_gather_perf -b 8\n";
  CHECK(parse_nccl(run_of(both, 16)).rows[0].collective == "allreduce");
  const auto gathers = [](std::string text) { return text.replace(text.find(" sum "), 5, "none "); };
  CHECK(parse_nccl(gathers(run_of(both, 16))).rows[0].collective == "allgather");
  CHECK(parse_nccl(gathers(run_of("srun ./all_gather_perf\nsrun ./all_reduce_perf\n", 16))).rows[0].collective == "allgather");
}

TEST_CASE("nccl-tests: without the program's name the larger rows of a run say the collective of its small ones too") {
  const std::string large =
      "     1048576        262144     float     sum      -1   100.00   10.49   19.66      0   100.00   10.49   19.66      0\n";
  const std::string halved =
      "     1048576         16384     float     sum      -1   100.00   10.49    9.83      0   100.00   10.49    9.83      0\n";
  const auto with = [](const std::string& row) {
    std::string text = run_of("", 16);
    return text.insert(text.find("# Out of"), row);
  };
  for (const Measurement& row : parse_nccl(with(large)).rows) CHECK(row.collective == "allreduce");
  for (const Measurement& row : parse_nccl(with(halved)).rows) CHECK(row.collective == "reduce_scatter");
  // each run by itself
  const Measurements both = parse_nccl(with(halved) + with(large));
  REQUIRE(both.rows.size() == 8);
  CHECK(both.rows[0].collective == "reduce_scatter");
  CHECK(both.rows[4].collective == "allreduce");
  CHECK_THROWS_WITH_AS(parse_nccl(run_of("", 4) + with(large)),
                       "f:11: does not say which collective was measured; give it with --collective NAME or f:collective=NAME", InputError);
}

TEST_CASE("nccl-tests: without the program's name the columns of a run say which collective it is, where one program alone has them") {
  const auto told = [](const std::string& columns, const std::string& count_type_and_on, const std::string& bandwidths) {
    const std::string block = "   100.00   " + bandwidths + "      0";
    const std::string row = "     1048576  " + count_type_and_on + block + block + "\n";
    std::string text = run_of("", 16);
    const auto table = text.find("#       size"), end = text.find("# Out of");
    text.replace(table, end - table,
                 "#       size         count      type   " + columns +
                     "     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
                     "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n" +
                     row);
    try {
      return parse_nccl(text).rows[0].collective;
    } catch (const InputError&) {
      return std::string("not told");
    }
  };
  CHECK(told("redop    root", "262144 float     sum       0", "10.49   10.49") == "reduce");
  CHECK(told("redop    root", "262144 float    none       0", "10.49   10.49") == "broadcast");
  CHECK(told("redop    root", "16384 float    none       0", "10.49    9.83") == "not told");  // gather_perf and scatter_perf
  CHECK(told("redop    root", "16384 float    none      -1", "10.49    9.83") == "not told");  // all_gather_perf and alltoall_perf
  CHECK(told("root", "262144 float       0", "10.49   10.49") == "broadcast");
  CHECK(told("root", "16384 float       0", "10.49    9.83") == "not told");
  CHECK(told("redop", "16384 float        ", "10.49    9.83") == "alltoall");
  CHECK(told("redop", "262144 float     sum", "10.49   19.66") == "allreduce");
  CHECK(told("redop", "16384 float     sum", "10.49    9.83") == "reduce_scatter");
  CHECK(told("redop", "16384 float     sum", " 9.83    9.83") == "reduce_scatter");  // of 2020
  CHECK(told("", "16384 float", "10.49    9.83") == "not told");
  CHECK(told("redop    root", "262144 float     sum      -1", "10.49   10.49") == "not told");  // sendrecv_perf
  // where the count says nothing
  CHECK(told("redop", "262144 complex   sum", "10.49   19.66") == "allreduce");
  CHECK(told("redop", "262144 complex   sum", "10.49    9.83") == "reduce_scatter");
  CHECK(told("redop", "262145 float     sum", " 9.83    9.83") == "reduce_scatter");
  CHECK(told("root", "262144 complex     0", "10.49   10.49") == "broadcast");
}

TEST_CASE("nccl-tests: without the program's name the count says whether two ranks all-reduced, whatever bandwidths are rounded to") {
  const auto told = [](const std::string& row, int ranks) {
    std::string text = run_of("", ranks);
    const auto at = text.find("           8 "), end = text.find("# Out of");
    text.replace(at, end - at, row + "\n");
    try {
      return parse_nccl(text).rows.at(0).collective;
    } catch (const InputError&) {
      return std::string("not told");
    }
  };
  // 4096 B / 33.56 us = 0.122 GB/s, 8192 B / 33.56 us = 0.244 GB/s
  CHECK(told("4096 1024 float sum -1 33.56 0.12 0.12 0 33.33 0.12 0.12 0", 2) == "allreduce");
  CHECK(told("4096  512 float sum -1 33.56 0.12 0.06 0 33.33 0.12 0.06 0", 2) == "reduce_scatter");
  CHECK(told("4096  512 float sum -1 33.56 0.06 0.06 0 33.33 0.06 0.06 0", 2) == "reduce_scatter");  // of 2020
  CHECK(told("   8    2 float sum -1 33.56 0.00 0.00 0 33.33 0.00 0.00 0", 2) == "allreduce");
  CHECK(told("   8    2 float sum -1 33.56 0.00 0.00 0 33.33 0.00 0.00 0", 4) == "not told");
  // of a type whose size nobody knows
  CHECK(told("4096 1024 x sum -1 33.56 0.12 0.12 0 33.33 0.12 0.12 0", 2) == "allreduce");
  CHECK(told("8192 1024 x sum -1 33.56 0.24 0.12 0 33.33 0.24 0.12 0", 2) == "reduce_scatter");
  CHECK(told("8192 1024 x sum -1 33.56 0.12 0.12 0 33.33 0.12 0.12 0", 2) == "reduce_scatter");  // of 2020
  // of ranks that nobody counts
  CHECK(told("8192 1024 float sum -1 33.56 0.24 0.12 0 33.33 0.24 0.12 0", 0) == "reduce_scatter");
  CHECK(told("8192 2048 float sum -1 33.56 0.24 0.46 0 33.33 0.24 0.46 0", 0) == "allreduce");
  CHECK(told("8192 2048 float sum -1 33.56 0.24 0.24 0 33.33 0.24 0.24 0", 0) == "not told");  // two that all-reduced, or sendrecv_perf
}

TEST_CASE("nccl-tests: without the program's name the user says the collective where the columns allow it") {
  const auto read_as = [](const std::string& above, int ranks, const std::string& busbw, const std::string& said) {
    std::string text = run_of(above, ranks);
    const std::string block = "   100.00   10.49   " + busbw + "      0";
    text.insert(text.find("# Out of"), "     1048576        262144     float     sum      -1" + block + block + "\n");
    const Measurements read = parse_nccl(text, {.collective = said});
    for (const Measurement& row : read.rows) CHECK(row.collective == read.rows[0].collective);
    return read.rows[0].collective;
  };
  CHECK(read_as("", 2, "10.49", "") == "allreduce");
  CHECK(read_as("", 2, "10.49", "reduce_scatter") == "reduce_scatter");
  CHECK(read_as("", 2, "10.49", "broadcast") == "allreduce");        // no root
  CHECK(read_as("", 2, "10.49", "allgather") == "allreduce");        // sums
  CHECK(read_as("", 16, "19.66", "reduce_scatter") == "allreduce");  // busbw above algbw
  CHECK(read_as("# Collective test starting: all_reduce_perf\n", 2, "10.49", "reduce_scatter") == "allreduce");
  CHECK(read_as("", 2, "10.49", "reduce_scatter_perf") == "reduce_scatter");
}
