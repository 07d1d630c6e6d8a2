#include "validation/measurements/measurement.hpp"
#include "validation/testing.hpp"

#include <doctest/doctest.h>

using namespace weft;

namespace {

const std::string imb = R"(# Calling sequence was:
# IMB-MPI1

#---------------------------------------------------
# Benchmarking PingPong
# #processes = 2
# ( 6 additional processes waiting in MPI_Barrier)
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         1.20         0.00
         1024         1000         2.25       455.11

#----------------------------------------------------------------
# Benchmarking Allgather
# #processes = 8
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            0         1000         0.05         0.06         0.05
         1024         1000         8.05         8.16         8.10

#----------------------------------------------------------------
# Benchmarking Bcast
# #processes = 8
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1024         1000         1.05         9.00         5.00

#---------------------------------------------------
# Benchmarking Barrier
# #processes = 8
#---------------------------------------------------
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1000         3.05         3.16         3.10
)";

}  // namespace

TEST_CASE("Intel MPI Benchmarks: ping-pong, collectives and barriers, with their processes") {
  const ScratchFolder folder;
  const Measurements read = read_measurements(folder.file("imb.txt", imb), {});
  CHECK(read.format == "Intel MPI Benchmarks");
  REQUIRE(read.rows.size() == 5);
  CHECK(read.rows[0].collective == "latency");
  CHECK(read.rows[0].ranks == 2);
  CHECK(read.rows[0].size_bytes == 0);
  CHECK(read.rows[1].time_us == 2.25);
  CHECK(read.rows[2].collective == "allgather");  // that of no bytes is none
  CHECK(read.rows[2].ranks == 8);
  CHECK(read.rows[2].size_of_a_rank);
  CHECK(read.rows[2].time_us == 8.10);
  CHECK(read.rows[3].collective == "broadcast");
  CHECK(read.rows[3].time_us == 9.00);  // until all have it, not when the ranks are done on average
  CHECK_FALSE(read.rows[3].mean_of_ranks);
  CHECK(read.rows[4].collective == "barrier");
  CHECK(read.rows[4].time_us == 3.10);
}

TEST_CASE("Intel MPI Benchmarks: what Weft does not simulate, bad rows and other columns are refused with their lines, all at once") {
  const ScratchFolder folder;
  const auto file = folder.file("imb.txt", R"(# Benchmarking Exchange
# #processes = 2
#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec] Mbytes/sec
8 1000 1 1 1 8
# Benchmarking Allreduce
# #processes = 2
#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]
8 1000 1
# Benchmarking Bcast
# #processes = 2
#bytes #repetitions Mbytes/sec
)");
  const auto problems = problems_of([&] { read_measurements(file, {}); });
  REQUIRE(problems.size() == 3);
  CHECK(problems[0].ends_with(
      "imb.txt:1: \"Exchange\" is none of the Intel MPI Benchmarks that Weft simulates: PingPong, Allreduce, Allgather, "
      "Alltoall, Reduce, Reduce_scatter, Bcast, Barrier"));
  CHECK(problems[1].ends_with("imb.txt:8: must have the 5 columns that are named above, got \"8 1000 1\": it was cut"));
  CHECK(problems[2].ends_with("imb.txt:11: must have a column t[usec] or t_avg[usec], the columns are \"#bytes #repetitions Mbytes/sec\""));
}

TEST_CASE("Intel MPI Benchmarks: what MPI prints among the rows is passed over") {
  const ScratchFolder folder;
  std::string text = imb;
  text.insert(text.find("         1024         1000         8.05"),
              "0 of 8 processes warned: libfabric, 2 of 3\n\nnode0:1:1 [0] NCCL INFO x\n");
  CHECK(read_measurements(folder.file("imb.txt", text), {}).rows.size() == 5);
}

TEST_CASE("Intel MPI Benchmarks: tables with tabs between their words, and the numbers of a spreadsheet's lines behind them, are read") {
  const Measurements read = parse_measurements(
      "#----------------------------------------------------------------\t\t\t1\n"
      "#\tBenchmarking\tAlltoall\t\t2\n#\t#processes\t=\t16\t\t3\n"
      "#\t(\t16\tadditional\tprocesses\twaiting\tin\tMPI_Barrier)\t4\n"
      "#bytes\t#repetitions\tt_min[usec]\tt_max[usec]\tt_avg[usec]\t\t\t6\n"
      "0\t1000\t0.16\t0.20\t0.18\t\t\t7\n1\t1000\t5.52\t5.82\t5.67\t\t\t8\n",
      "f");
  REQUIRE(read.rows.size() == 1);
  CHECK(read.rows[0].collective == "alltoall");
  CHECK(read.rows[0].ranks == 16);
  CHECK(read.rows[0].size_bytes == 1);
  CHECK(read.rows[0].time_us == 5.67);
  CHECK(problems_of([] {
          parse_measurements("# Benchmarking Allreduce\n# #processes = many\n#bytes #repetitions t_avg[usec]\n8 1000 1\n", "f");
        }) == std::vector<std::string>{"f:2: must be a number of processes, got \"# #processes = many\""});
}

TEST_CASE("Intel MPI Benchmarks: cut rows, rows with defects and rows behind something else are refused where they stand") {
  const std::string begin =
      "# Benchmarking Allreduce\n# #processes = 8\n#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec] defects\n"
      "4 1000 4.80 7.80 6.00 0.00\n8 1000 4.80 7.80 6.00 0.00\n";
  const auto with = [&](const std::string& row) { return problems_of([&] { parse_measurements(begin + row, "f"); }); };
  CHECK(with("16 1000 4.80 7.80 6.00 0.00\n").empty());
  CHECK(with("16 1000 4.80 7.80 60") ==
        Lines{"f:6: must have the 6 columns that are named above, got \"16 1000 4.80 7.80 60\": it was cut"});
  CHECK(with("16 1000 4.80 7.80 6.00 0") == Lines{"f:6: the line was cut: 0 has fewer decimals than the numbers above it"});
  CHECK(with("16 1000 4.80 7.80 6.00 0\n32 1000 4.80 7.80 6.00 0.00").empty());  // somebody rounded
  CHECK(with("16 1000 4.80 7.80 6.00 3.00\n") == Lines{"f:6: the result was wrong (defects: 3.00); the time of a wrong result is none"});
  CHECK(with("node1: 16 1000 4.80 7.80 6.00 0.00\n") ==
        Lines{"f:6: looks like a row behind \"node1:\"; a row must begin with its size: remove what stands before it"});
  CHECK(with("node1: 16 of 32 ranks took 1 2 3 4 5 6\n").empty());
}

TEST_CASE("IMB: a table whose lines all stand behind something is refused with what that is") {
  std::string behind;
  for (std::size_t begin = 0, end = 0; (end = imb.find('\n', begin)) != imb.npos; begin = end + 1)
    behind += "node01: " + imb.substr(begin, end + 1 - begin);
  const std::string said =
      "looks like the title of a table behind \"node01:\"; it must begin its line: remove what stands before each line";
  CHECK(problems_of([&] { parse_measurements(behind, "f"); }) == Lines{"f:5: " + said, "f:14: " + said, "f:22: " + said, "f:29: " + said});
}

TEST_CASE("IMB: columns of the same name, of which nothing says which is meant, are refused") {
  CHECK(problems_of([] {
          parse_measurements("# Benchmarking Bcast\n# #processes = 16\n#bytes #repetitions t_avg[usec] t_avg[usec]\n1 1000 205.97 319.86\n",
                             "f");
        }) == Lines{"f:3: has 2 columns \"t_avg[usec]\", and nothing says which is meant: keep one of them"});
}

TEST_CASE("IMB: rows of a table whose title or column names were cut off are refused where they stand") {
  const std::string row = "65536          100        13.88        14.35        14.12\n";
  const std::string said =
      ": looks like a row of a table without its title and column names above it; give these lines too, or remove the row";
  CHECK(problems_of([&] { parse_measurements(row + row + "\n" + imb, "f"); }) == Lines{"f:1" + said, "f:2" + said});
  CHECK(parse_measurements(row + imb, "f", {.skip_bad = true}).rows.size() == 5);
  CHECK(problems_of([&] { parse_measurements(imb + "# Benchmarking Allreduce\n# #processes = 8\n" + row, "f"); }) == Lines{"f:36" + said});
  CHECK(parse_measurements("8 ranks on 2 nodes\n1 2\n12 1000 1\n" + imb, "f").rows.size() == 5);
  CHECK(problems_of([&] { parse_measurements(imb + "# Benchmarking Exchange\n# #processes = 8\n" + row, "f"); }).size() == 1);
}

TEST_CASE("IMB: rows that begin with their benchmark and its processes, as of old releases, are read") {
  const std::string begin =
      "# Benchmarking Allreduce\n# #processes = 96\n#Benchmarking #procs #bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]\n";
  const Measurements read =
      parse_measurements(begin +
                             "Allreduce       96                 0         1000         0.02         0.03         0.02\n"
                             "Allreduce       96                 4         1000       297.88       298.07       297.95\n",
                         "f");
  REQUIRE(read.rows.size() == 1);
  CHECK(read.rows[0].ranks == 96);
  CHECK(read.rows[0].size_bytes == 4);
  CHECK(read.rows[0].time_us == 297.95);
  CHECK(problems_of([&] { parse_measurements(begin + "Allreduce 96 4 1000 297.88 298.07\n", "f"); }) ==
        Lines{"f:4: must have the 7 columns that are named above, got \"Allreduce 96 4 1000 297.88 298.07\": it was cut"});
}
