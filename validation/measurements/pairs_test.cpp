#include "validation/measurements/measurement.hpp"
#include "validation/testing.hpp"

#include <doctest/doctest.h>

using namespace weft;

namespace {

const std::string printed = R"([P2P (Peer-to-Peer) GPU Bandwidth Latency Test]
Device: 0, Tesla
P2P Connectivity Matrix
     D\D     0     1
     0       1     1
     1       1     1
Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\D     0      1
     0 541.84   5.00
     1   8.00 543.05
Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)
   D\D     0      1
     0 541.84  16.00
     1  16.00 543.05
P2P=Enabled Latency (P2P Writes) Matrix (us)
   GPU     0      1
     0   1.50   2.25
     1   2.50   1.50

   CPU     0      1
     0   3.00   4.00
     1   4.00   3.00
)";

}  // namespace

TEST_CASE("pairs: what p2pBandwidthLatencyTest prints is a message for each two GPUs") {
  const Measurements read = parse_measurements(printed, "p2p.txt");
  CHECK(read.format == "matrices of pairs");
  REQUIRE(read.rows.size() == 8);
  const Measurement& first = read.rows[0];
  CHECK(first.collective == "bandwidth");
  CHECK(first.algorithm == "p2p_disabled");
  CHECK(first.from == 0);
  CHECK(first.to == 1);
  CHECK(first.time_us == doctest::Approx(160e6 / 5e3));  // 160 MB at 5 GB/s
  CHECK(read.rows[1].from == 1);
  CHECK(read.rows[1].time_us == doctest::Approx(20'000));
  CHECK(read.rows[2].collective == "bidirectional_bandwidth");
  CHECK(read.rows[4].collective == "latency");
  CHECK(read.rows[4].algorithm == "p2p_enabled");
  CHECK(read.rows[4].time_us == 2.25);
  CHECK(read.rows[6].algorithm == "p2p_enabled_cpu");
  CHECK(read.rows[6].where == "p2p.txt:21");
}

TEST_CASE("pairs: a matrix that was cut off, and one in other units, are refused") {
  const std::string cut = printed.substr(0, printed.find("     1   4.00"));
  CHECK(problems_of([&] { parse_measurements(cut, "p2p.txt"); }) == Lines{"p2p.txt:20: must have 2 lines below, one for each GPU, got 1"});
  std::string slow = printed;
  slow.replace(slow.find("(GB/s)"), 6, "(MB/s)");
  CHECK(problems_of([&] { parse_measurements(slow, "p2p.txt"); }) ==
        Lines{"p2p.txt:7: must be a matrix of bandwidths in GB/s or of latencies in us, got \"Unidirectional P2P=Disabled Bandwidth Matrix "
              "(MB/s)\""});
}

TEST_CASE("pairs: the same as CSV, and what is wrong with it") {
  const std::string columns = "matrix,timer,from_gpu,to_gpu,value\n";
  const Measurements read = parse_measurements(columns + "P2P=Disabled Latency Matrix (us),GPU,0,1,12.5\n", "p2p.csv");
  REQUIRE(read.rows.size() == 1);
  CHECK(read.rows[0].time_us == 12.5);
  CHECK(problems_of([&] {
          parse_measurements(columns +
                                 "Some Matrix,GPU,0,1,2\nP2P=Disabled Latency Matrix (us),GPU,0,x,2\n"
                                 "P2P=Disabled Latency Matrix (us),GPU,0,1,-2\nGPU,0\n",
                             "p2p.csv");
        }) == Lines{"p2p.csv:2: \"Some Matrix\" is no matrix of p2pBandwidthLatencyTest",
                    "p2p.csv:3: must name two GPUs by number, got \"0\" and \"x\"", "p2p.csv:4: must be a number, more than 0, got \"-2\"",
                    "p2p.csv:5: must have 5 fields: matrix,timer,from_gpu,to_gpu,value"});
}
