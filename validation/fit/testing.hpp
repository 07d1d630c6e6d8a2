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

inline std::vector<std::int64_t> powers_of_two(int from, int to) {
  std::vector<std::int64_t> out;
  for (int i = from; i <= to; ++i) out.push_back(std::int64_t{1} << i);
  return out;
}

}  // namespace weft
