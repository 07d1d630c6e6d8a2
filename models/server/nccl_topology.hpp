// A server from an NCCL topology file (NCCL_TOPO_FILE; written by NCCL_TOPO_DUMP_FILE), system version 1 and 2.
//
// cpu -> socket, pci with a bridge's class -> PCIe switch, gpu -> GPU, net -> NIC. Where a net has a card, those without one (bridges,
// tunnels) are left out, and else each stands below the first socket that lists it. A file without any is a server by itself.
// PCIe rates follow from link_speed and link_width; of virtual machines, where these are empty or "Unknown", they are those of 16 lanes of
// the third generation, as NCCL takes them. All NVSwitches become one, as in NCCL itself, since a GPU spreads its messages over all
// of them. Speeds that the file does not hold (NVLink, between sockets) are NCCL's own planning constants (src/graph/topo.h).
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

// The file for a server, which NCCL_TOPO_FILE takes: sockets, PCIe switches, GPUs and NICs by the tree of their links, NVLinks by how many
// of NCCL's rate they are. `nic` is the rate of a NIC's cable. What the file has no words for (latencies, contention, policy, the rate
// between sockets but by kind of processor) is left out. Throws InputError for a device that hangs below no socket, and for a server
// that is one GPU by itself.
std::string to_nccl_topology(const Server& server, BitsPerSecond nic);

}  // namespace weft
