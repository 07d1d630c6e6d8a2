// Tables of nccl-tests for tests of their reader.
#pragma once

#include "kernels/testing/problems_of.hpp"
#include "sim/cases/testing.hpp"
#include "validation/measurements/measurement.hpp"

namespace weft {

inline std::string run_of(const std::string& above, int ranks) {
  std::string out = above + "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20\n#\n# Using devices\n";
  for (int r = 0; r < ranks; ++r) out += fmt::format("#  Rank  {} Group  0 Pid  1{} on  node{} device  0 [0x3b] V100\n", r, r, r / 2);
  return out +
         "#\n#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
         "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
         "           8             2     float     sum      -1    60.04    0.00    0.00      0    60.04    0.00    0.00      0\n"
         "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 0.0\n#\n";
}

inline Measurements parse_nccl(const std::string& text, const ReadOptions& options = {}) { return parse_measurements(text, "f", options); }

inline Lines problems_of_nccl(const std::string& text, const ReadOptions& options = {}) {
  return problems_of([&] { parse_nccl(text, options); });
}

// A table of before 2.13: its columns before the times, then a row's words there.
inline std::string old_table(const std::string& columns, const std::string& row, const std::string& error) {
  return "# nThread 1 nGpus 8 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20 validation: 1 \n#\n# Using devices\n"
         "#   Rank  0 Pid  11 on node0 device  0 [0x00] V100\n#   Rank  1 Pid  12 on node1 device  0 [0x00] V100\n"
         "#   Rank  2 Pid  13 on node2 device  0 [0x00] V100\n"
         "#       " +
         columns +
         "     time   algbw   busbw  error     time   algbw   busbw  error\n#        (B)    (elements)      (us)  (GB/s)  (GB/s)           "
         " (us)\n" +
         "     1048576  " + row + "    100.0   10.49   10.49  " + error + "    110.0    9.53    9.53  0e+00\n";
}

}  // namespace weft
