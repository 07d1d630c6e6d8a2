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
  CHECK(problems[1].ends_with("imb.txt:8: must be a size in bytes and times, got \"8 1000 1\""));
  CHECK(problems[2].ends_with("imb.txt:11: must have a column t[usec] or t_avg[usec], the columns are \"#bytes #repetitions Mbytes/sec\""));
}

TEST_CASE("Intel MPI Benchmarks: what MPI prints among the rows is passed over") {
  const ScratchFolder folder;
  std::string text = imb;
  text.insert(text.find("         1024         1000         8.05"),
              "0 of 8 processes warned: libfabric, 2 of 3\n\nnode0:1:1 [0] NCCL INFO x\n");
  CHECK(read_measurements(folder.file("imb.txt", text), {}).rows.size() == 5);
}
