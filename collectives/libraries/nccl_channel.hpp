// The way of one of NCCL's channels through the GPUs of a server, which its rings, its trees and its sums in switches share.
#pragma once

#include "collectives/libraries/nccl.hpp"

#include <cstdint>
#include <vector>

namespace weft {

// The GPU of the channel's NIC.
int head_of(const NcclShape& shape, int channel);

// The GPUs in the order of the channel, as links join them, from this one on.
std::vector<int> along_links(const NcclShape& shape, int channel, int first);

// The GPUs of a server from that of the channel's NIC on.
std::vector<int> chain_of(const NcclShape& shape, int channel);

// A server's GPUs below its head in a tree: each below the one before, or all below the head.
enum class BelowHead : std::uint8_t { chain, star };

}  // namespace weft
