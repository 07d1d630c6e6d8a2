// What a message pays in a server for each device or link that it passes.
#pragma once

#include "kernels/base/units.hpp"

namespace weft {

// A PCIe switch passes a packet on in about 150 ns (Broadcom PEX 9797 and PEX 88096 product briefs).
inline constexpr SimTime through_switch = 150_ns;
// Half of the median time of a 64 B DMA read from host memory, about 550 ns (Neugebauer et al. 2018, figure 6), less memory.
inline constexpr SimTime through_root = 200_ns;
// Peer-to-peer writes take 2.25 to 2.5 us across sockets and 1.7 to 2.0 us within one (p2p_a100_8gpu_pcie_dualsocket).
inline constexpr SimTime between_sockets = 500_ns;
// NCCL 2.x, src/graph/tuning.cc: 0.6 us for each NVLink hop from GPU to GPU, half of it to and from an NVSwitch.
inline constexpr SimTime between_nvlinks = 600_ns, to_nvswitch = 300_ns;
// Assumed: 50 ns from core to core of an L3, 130 ns to another L3 of the socket, 80 ns more across sockets.
inline constexpr SimTime from_core = 25_ns, between_caches = 40_ns, across_cpus = 80_ns;

}  // namespace weft
