#include "sim/cases/testing.hpp"
#include "validation/measurements/measurement.hpp"

#include <doctest/doctest.h>

using namespace weft;

namespace {

std::string run_of(const std::string& above, int ranks) {
  std::string out = above + "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20\n#\n# Using devices\n";
  for (int r = 0; r < ranks; ++r) out += fmt::format("#  Rank  {} Group  0 Pid  1{} on  node{} device  0 [0x3b] V100\n", r, r, r / 2);
  return out +
         "#\n#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
         "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
         "           8             2     float     sum      -1    60.04    0.00    0.00      0    60.04    0.00    0.00      0\n"
         "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 0.0\n#\n";
}

Measurements parse(const std::string& text, const ReadOptions& options = {}) { return parse_measurements(text, "f", options); }

}  // namespace

TEST_CASE("nccl-tests: each run of a file has the ranks, nodes and collective of its own header") {
  const Measurements read = parse(run_of("# Collective test starting: all_reduce_perf\n", 4) +
                                      run_of("# Collective test starting: all_gather_perf\n", 2) + run_of("", 8),
                                  {.collective = "broadcast"});
  REQUIRE(read.rows.size() == 6);
  CHECK(read.rows[0].ranks == 4);
  CHECK(read.rows[0].nodes == 2);
  CHECK(read.rows[0].collective == "allreduce");
  CHECK(read.rows[2].ranks == 2);
  CHECK(read.rows[2].nodes == 1);
  CHECK(read.rows[2].gpus == 2);
  CHECK(read.rows[2].collective == "allgather");
  CHECK(read.rows[4].ranks == 8);
  CHECK(read.rows[4].collective == "broadcast");  // its header does not say
}

TEST_CASE("nccl-tests: the collective is known by the program's name, wherever it stands above the rows") {
  for (const std::string above : {"$ mpirun -np 2 ./build/all_reduce_perf -b 8 -e 8\n", "+ srun /opt/nccl-tests/all_reduce_perf_mpi -b 8\n",
                                  "# Collective test starting: all_reduce_perf\n"}) {
    CAPTURE(above);
    CHECK(parse(run_of(above, 2)).rows[0].collective == "allreduce");
  }
}

TEST_CASE("nccl-tests: without the program's name the larger rows of a run say the collective of its small ones too") {
  const std::string large =
      "     1048576        262144     float     sum      -1   100.00   10.49   19.66      0   100.00   10.49   19.66      0\n";
  const std::string halved =
      "     1048576        262144     float     sum      -1   100.00   10.49    9.83      0   100.00   10.49    9.83      0\n";
  const auto with = [](const std::string& row) {
    std::string text = run_of("", 16);
    return text.insert(text.find("# Out of"), row);
  };
  for (const Measurement& row : parse(with(large)).rows) CHECK(row.collective == "allreduce");
  for (const Measurement& row : parse(with(halved)).rows) CHECK(row.collective == "reduce_scatter");
  // each run by itself
  const Measurements both = parse(with(halved) + with(large));
  REQUIRE(both.rows.size() == 8);
  CHECK(both.rows[0].collective == "reduce_scatter");
  CHECK(both.rows[4].collective == "allreduce");
  CHECK_THROWS_WITH_AS(parse(run_of("", 2) + with(large)),
                       "f:9: does not say which collective was measured; give it with --collective NAME", InputError);
}

TEST_CASE("nccl-tests: a program that Weft does not simulate is refused by its name") {
  CHECK_THROWS_WITH_AS(parse(run_of("# Collective test starting: scatter_perf\n", 2), {.collective = "allreduce"}),
                       "f:1: \"scatter_perf\" is none of the programs of nccl-tests that Weft simulates: all_gather_perf, all_reduce_perf, "
                       "alltoall_perf, broadcast_perf, reduce_perf, reduce_scatter_perf",
                       InputError);
}

TEST_CASE("nccl-tests: the table that weft bench prints says the collective, the ranks and the algorithm of its rows") {
  const std::string columns =
      "#       size        count      type   redop   root      time   algbw   busbw #wrong     i_min     i_max     i_p99  i_cv%\n"
      "#        (B)   (elements)                               (us)  (GB/s)  (GB/s)             (us)      (us)      (us)\n";
  const Measurements read = parse(
      "# weft bench: allreduce over threads\n# nThread 1 nGpus 0 minBytes 8 maxBytes 8\n#\n# 4 ranks, channels 1, pieces 1\n#\n"
      "# algorithm ring\n#\n" +
      columns +
      "           8            2   float32     sum     -1     10.00    0.00    0.00      0      9.00     11.00     11.00    1.0\n"
      "#\n# algorithm direct\n#\n" +
      columns +
      "           8            2   float32     sum     -1     20.00    0.00    0.00      0      9.00     31.00     31.00    1.0\n");
  REQUIRE(read.rows.size() == 2);
  CHECK(read.rows[0].collective == "allreduce");
  CHECK(read.rows[0].ranks == 4);
  CHECK(read.rows[0].algorithm == "ring");
  CHECK(read.rows[1].algorithm == "direct");
}
