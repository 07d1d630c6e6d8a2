// A server from an NCCL topology file (NCCL_TOPO_FILE; written by NCCL_TOPO_DUMP_FILE), system version 1 and 2.
//
// cpu -> socket, pci with a bridge's class -> PCIe switch, gpu -> GPU, net -> NIC. PCIe rates follow from link_speed and
// link_width. All NVSwitches become one, as in NCCL itself, since a GPU spreads its messages over all of them. Speeds that
// the file does not hold (NVLink, between sockets) are NCCL's own planning constants (src/graph/topo.h).
#pragma once

#include "kernels/base/error.hpp"
#include "models/server/server.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace weft {

inline constexpr std::size_t max_topology_bytes = 4 << 20;

// Throws InputError with a line for each problem, its place a path through the file: "/system/cpu[1]/pci[0]: ...".
// The server has no problems of its own then.
Server read_nccl_topology(std::string_view xml);

}  // namespace weft
