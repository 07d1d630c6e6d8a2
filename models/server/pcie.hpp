// What a PCIe link carries: from generation, width and packet size to payload bits per second of one direction.
#pragma once

#include "kernels/base/error.hpp"
#include "kernels/base/units.hpp"

#include <vector>

namespace weft {

struct PcieLink {
  int generation = 3;     // 1 to 6
  int width = 16;         // lanes
  int max_payload = 256;  // bytes of data in a packet (MPS)
  friend bool operator==(const PcieLink&, const PcieLink&) = default;
};

std::vector<Problem> problems(const PcieLink&);

// lanes x transfers/s x encoding x data link layer x payload / (payload + packet header), rounded down to a bit a second.
BitsPerSecond pcie_rate(const PcieLink&);

// The generation with this raw rate of a lane, 0 if there is none: 8 -> 3.
int pcie_generation(double gigatransfers_per_second);

}  // namespace weft
