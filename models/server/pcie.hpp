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

// What a NIC on a PCIe 4 port of a CPU, without a switch, gets of each direction to and from GPUs on other ports while both are used:
// 18.0 to 18.6 GB/s of 25 are reached by NCCL's rings at their largest sizes with each of Perlmutter's four NICs (EPYC 7763) and of
// Polaris' and Sirius' two (EPYC 7543P; argonne-lcf/alcf-nccl-tests 385be33). One direction alone carries 24.1 of 25 GB/s (broadcasts and
// reduces between two EPYC servers, thomaslie210/NCCL_Test_Results). Nothing like it is known of other generations.
inline constexpr BitsPerSecond nic_duplex_rate_of_root_port = 154_Gbps;

// The generation with this raw rate of a lane, 0 if there is none: 8 -> 3.
int pcie_generation(double gigatransfers_per_second);

}  // namespace weft
