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

namespace {

// With a row of 1 MiB, whose count is of the whole message or of one rank's block of 8.
std::string run_of_large(const std::string& above, const std::string& count_type_and_redop, const std::string& bandwidths) {
  std::string text = run_of(above, 8);
  const auto at = text.find("           8 "), end = text.find("# Out of");
  const std::string block = "   100.00   " + bandwidths + "      0";
  return text.replace(at, end - at, "     1048576  " + count_type_and_redop + "  -1" + block + block + "\n");
}

std::string large_allreduce(const std::string& above) { return run_of_large(above, "262144 float sum", "10.49   18.35"); }
std::string large_reduce_scatter(const std::string& above) { return run_of_large(above, "32768 float sum", "10.49    9.18"); }
std::string large_alltoall(const std::string& above) { return run_of_large(above, "32768 float none", "10.49    9.18"); }

Lines not_said(int line) {
  return {fmt::format("f:{}: does not say which collective was measured; give it with --collective NAME or f:collective=NAME", line)};
}

}  // namespace

TEST_CASE("nccl-tests: listings of programs and names of folders say nothing of what was run") {
  const std::string in_a_line = "$ ls build\nall_gather_perf  all_reduce_perf  alltoall_perf  gather_perf\n";
  const std::string one_a_line = "$ ls build\nall_gather_perf\nall_reduce_perf\ngather_perf\nsendrecv_perf\ntimer.o\n";
  for (const std::string& above : {in_a_line, one_a_line}) {
    CAPTURE(above);
    CHECK(parse_nccl(large_allreduce(above)).rows.at(0).collective == "allreduce");
    CHECK(parse_nccl(large_alltoall(above + "+ ./build/alltoall_perf -b 8\n")).rows.at(0).collective == "alltoall");
  }
  CHECK(problems_of_nccl(large_alltoall(in_a_line)) == not_said(17));
  CHECK(problems_of_nccl(large_alltoall(one_a_line)) == not_said(21));
  for (const std::string above : {"Working directory: /home/x/alltoall_perf\n", "cd /x/alltoall_perf\n", "PWD=/x/alltoall_perf\n"}) {
    CAPTURE(above);
    CHECK(problems_of_nccl(large_alltoall(above)) == not_said(16));
  }
  CHECK(parse_nccl(large_alltoall("srun -n 8 /opt/nccl-tests/build/alltoall_perf\n")).rows.at(0).collective == "alltoall");
}

TEST_CASE("nccl-tests: the name of the run that ended is not that of the next") {
  for (const std::string end :
       {"# Collective test concluded: all_reduce_perf\n", "=== all_reduce_perf done ===\n", "all_reduce_perf: Done.\n"}) {
    CAPTURE(end);
    const Measurements read = parse_nccl(large_allreduce("") + end + large_reduce_scatter(""));
    REQUIRE(read.rows.size() == 4);
    CHECK(read.rows[0].collective == "allreduce");
    CHECK(read.rows[2].collective == "reduce_scatter");
    CHECK(problems_of_nccl(large_allreduce("") + end + large_alltoall("")) == not_said(34));
  }
  CHECK(problems_of_nccl(large_allreduce("") + "alltoall_perf done\n" + large_alltoall("")) == not_said(34));
  CHECK(parse_nccl(large_alltoall("for i in 1 2; do srun ./alltoall_perf -b 8; done\n")).rows.at(0).collective == "alltoall");
}

TEST_CASE("nccl-tests: a name that the rows exclude gives way to what they say, and is refused where they say nothing") {
  CHECK(parse_nccl(large_allreduce("echo all_gather_perf\n")).rows.at(0).collective == "allreduce");
  CHECK(parse_nccl(large_reduce_scatter("echo all_reduce_perf\n")).rows.at(0).collective == "reduce_scatter");
  const std::string excluded = large_alltoall("echo all_reduce_perf\n");
  CHECK(
      problems_of_nccl(excluded) ==
      Lines{
          "f:1: names all_reduce_perf, whose rows cannot have redop none, root -1 and 9.18 GB/s of busbw at 10.49 of algbw, as the row of "
          "1048576 bytes below has; give what was measured with --collective NAME"});
  CHECK(parse_nccl(excluded, {.collective = "alltoall"}).rows.at(0).collective == "alltoall");
  // one row that was garbled is not the run
  std::string garbled = large_allreduce("echo all_reduce_perf\n");
  garbled.insert(garbled.find("# Out of"),
                 "     4194304 1048576 float none -1 100.0 41.94 73.40 0 100.0 41.94 73.40 0\n"
                 "     8388608 2097152 float sum  -1 100.0 83.89 146.8 0 100.0 83.89 146.8 0\n");
  CHECK(parse_nccl(garbled).rows.at(0).collective == "allreduce");
  // of one rank there is no busbw
  std::string of_one = run_of("echo all_reduce_perf\n", 1);
  of_one.insert(of_one.find("# Out of"), "     1048576 262144 float sum -1 10.00 104.86 0.00 0 1.00 1048.58 0.00 0\n");
  CHECK(parse_nccl(of_one).rows.at(2).collective == "allreduce");
}

TEST_CASE("nccl-tests: a send and receive of two ranks, which looks as an all-reduce, is refused beside other programs too") {
  const auto refused = problems_of_nccl(run_of("srun ./all_reduce_perf -b 8\nsrun ./sendrecv_perf -b 8\n", 2));
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].starts_with("f:2: \"sendrecv_perf\" is none of the programs of nccl-tests that Weft simulates"));
}

TEST_CASE("nccl-tests: a send and receive of two ranks, which is checked out of place only, is not taken for an all-reduce") {
  const std::string columns = "     1048576        262144     float     sum      -1   100.00   10.49   10.49   ";
  const auto with = [&](const std::string& wrong_out_of_place, const std::string& wrong_in_place) {
    std::string text = run_of("", 2);
    const auto at = text.find("           8 "), end = text.find("# Out of");
    return text.replace(at, end - at, columns + wrong_out_of_place + "   101.00   10.38   10.38   " + wrong_in_place + "\n");
  };
  CHECK(problems_of_nccl(with("0", "N/A")) == not_said(9));
  CHECK(parse_nccl(with("0", "N/A"), {.collective = "allreduce"}).rows.at(0).collective == "allreduce");
  CHECK(parse_nccl("# Collective test starting: all_reduce_perf\n" + with("0", "N/A")).rows.at(0).collective == "allreduce");
  CHECK(parse_nccl(with("0", "0")).rows.at(0).collective == "allreduce");
  CHECK(parse_nccl(with("N/A", "N/A")).rows.at(0).collective == "allreduce");  // -c 0
}
