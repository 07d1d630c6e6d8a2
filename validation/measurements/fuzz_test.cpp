// Readers of measurements take any bytes: they read times from them or refuse them, and nothing else happens.
#include "kernels/base/error.hpp"
#include "kernels/testing/mutations.hpp"
#include "validation/measurements/measurement.hpp"

#include <doctest/doctest.h>

namespace weft {
namespace {

std::vector<std::string> seeds() {
  return {
      "# Collective test starting: all_reduce_perf\n# nThread 1 nGpus 2 minBytes 8\n#  Rank  0 Group  0 Pid 1 on node0 device  0 [0] X\n"
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong\n"
      "     1048576        262144     float     sum      -1    166.4    6.30    6.30       0    167.9    6.24    6.24     N/A\n",
      R"({"version": 3, "args": ["all_gather_perf"], "config": {"nthreads": 1, "ngpus": 2, "devices": [{"rank": 0, "hostname": "a"}]}, "results": [
        {"size": 1024, "count": 128, "type": "float", "redop": "none", "root": "   -1", "out_of_place": {"time": 9.5, "alg_bw": 0.11,
         "bus_bw": 0.05, "nwrong": "nan"}, "in_place": {"time": 9.25, "alg_bw": 0.11, "bus_bw": 0.05, "nwrong": 0}}]})",
      "# OSU MPI Allreduce Latency Test v7.1\n# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n4   1.90   1.5 "
      "  "
      "2.5   1000\n8   2.01   1.5   2.5   1000\n",
      "# OSU MPI Bandwidth Test v7.1\n# Size      Bandwidth (MB/s)\n1   3.20\n4096   9500.11\n",
      "source,nodes,ranks,collective,algorithm,size_bytes,time_us\npaper,2,4,allreduce,ring,1024,12.5\npaper,2,4,allreduce,tree,2048,20\n",
      "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n   D\\D     0      1\n     0 1529.83  12.18\n     1  11.99 "
      "1541.90\n",
      R"({"format": "weft trace", "version": 1, "system": "s", "ranks": 2, "collective": "allreduce", "clocks": [{"offset_us": 0}, {"offset_us": 1}]}
{"run": 0, "algorithm": "ring", "size_bytes": 1024, "times_us": [9, 7, 8]}
)",
  };
}

}  // namespace

TEST_CASE("measurements: whatever bytes a file has, it is read or refused") {
  for (const std::string& seed : seeds()) CHECK(!parse_measurements(seed, "f").rows.empty());
  const int rounds = mutation_rounds(4000);
  Mutations mutations(seeds(), 20260303);
  int read = 0;
  for (int round = 0; round < rounds; ++round) {
    ReadOptions options;
    options.skip_bad = round % 2 == 0;
    try {
      const Measurements found = parse_measurements(mutations.next(), "f", options);
      CHECK(!found.rows.empty());
      ++read;
    } catch (const InputError&) {
    }
  }
  CHECK(read > rounds / 20);
}

}  // namespace weft
