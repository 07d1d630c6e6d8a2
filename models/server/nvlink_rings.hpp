// Rings of GPUs along the NVLinks of a server, as NCCL searches for them where no NVSwitch joins all GPUs.
#pragma once

#include "models/server/server.hpp"

#include <vector>

namespace weft {

struct NvlinkRings {
  std::vector<std::vector<int>> orders;  // of GPUs, by number; each goes on to the one behind it, the last to the first
  BitsPerSecond lane = {};               // of each
};

// As many rings through the first `gpus` GPUs as the lanes of NVLinks give, each lane used once in each direction: every ring goes
// round both ways, but for two GPUs, between which that is the same. A link has as many lanes as it is faster than the slowest NVLink
// of the server, or twice as many of half of the rate where their rings carry more: through four GPUs of which each is joined to each go
// one ring of lanes, and three of halves. With the policy nvlink_relay, and only where no ring goes without, a ring goes through a GPU that
// is joined to two which are not. None where an NVSwitch joins GPUs, or where NVLinks make no ring.
//
// The search is exact for servers as they are built (hybrid cube meshes, all GPUs joined to all); it ends after so many steps that
// meshes that nobody builds cost no more.
NvlinkRings nvlink_rings(const Server& server, int gpus);

// Channels along these rings, each through one of so many NICs of this rate: the fewest, but one for each NIC, that carry most. Rings of
// eight GPUs joined all to all are 14 along half lanes, which 8 channels would use unevenly: 14 carry 7/4 of what they do.
int nvlink_channels(const NvlinkRings&, int nics, BitsPerSecond nic);

// Whether every GPU reaches every other over NVLink alone, through an NVSwitch or a link of their own.
bool nvlinks_join_all(const Server& server);

// Whether an NVSwitch adds what its GPUs send (NVLS): from the third generation on, whose GPUs have more than NVLink 3's 300 GB/s.
bool switch_adds(const Server& server);

// By pair of GPUs (from * GPUs + to): the GPU that NVLinks join to both, over the fastest links, of equal ones the first. -1: there is
// none, or NVLinks join the two.
std::vector<int> nvlink_relays(const Server& server);

}  // namespace weft
