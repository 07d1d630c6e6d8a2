// What the tests of fits share: a pair of nodes, and what it would measure.
#pragma once

#include "validation/fit/fit.hpp"
#include "validation/testing.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

inline OpenScenario open_pair(const std::vector<std::string>& names) {
  const ScratchFolder folder;
  return OpenScenario(folder.file("pair.json", pair_scenario), {}, names);
}

// What a cluster with this profile would measure.
inline std::vector<Measurement> measured_on(const HardwareProfile& truth, const std::vector<std::int64_t>& sizes) {
  Simulator simulator(open_pair({}).scenario());
  std::vector<Measurement> rows;
  for (const std::int64_t size : sizes) {
    Measurement row{.system = "made", .ranks = 2, .collective = "allreduce", .algorithm = "ring", .size_bytes = size};
    row.where = "made";
    row.time_us = simulator.time_us({"allreduce", {"ring"}, 2, Bytes{size}}, truth);
    rows.push_back(row);
  }
  return rows;
}

// An all-reduce of two ranks that takes 12 us and 100 ps a byte: 5 us a step besides the cables, 80 % of 100 Gb/s.
inline std::string pair_csv() {
  std::string out = "system,ranks,collective,algorithm,size_bytes,time_us\n";
  for (std::int64_t size = 8; size <= 1 << 24; size *= 4)
    out += fmt::format("S,2,allreduce,ring,{},{:.4f}\n", size, 12 + 1e-4 * static_cast<double>(size));
  return out;
}

inline std::vector<std::int64_t> powers_of_two(int from, int to) {
  std::vector<std::int64_t> out;
  for (int i = from; i <= to; ++i) out.push_back(std::int64_t{1} << i);
  return out;
}

}  // namespace weft
