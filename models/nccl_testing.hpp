// What the tests of NCCL's tuning ask about.
#pragma once

#include "models/nccl_tuning.hpp"

namespace weft {

// 4 servers of 4 GPUs on NVLink, 100 GB/s of NICs each.
inline constexpr NcclQuestion four_servers = {.ranks = 16, .servers = 4, .nvlink = true, .outside = 800_Gbps};

inline Regime of_four(NcclProtocol protocol, NcclAlgorithm pattern, SimTime longer = {}) {
  return {.protocol = protocol, .pattern = pattern, .between_servers = true, .longer = longer, .gpus = 4, .nvlink = true};
}

inline Regime with_channels(Regime regime, int channels) {
  regime.channels = channels;
  return regime;
}

// 8 H100 on an NVSwitch.
inline constexpr NcclQuestion one_server = {.ranks = 8, .nvlink = true, .switch_adds = true, .inside = BitsPerSecond{8 * 370'800'000'000}};

// 4 of them with a NIC of 400 Gb/s for each GPU, below switches that add.
inline constexpr NcclQuestion servers_with_sharp = {.ranks = 32,
                                                    .servers = 4,
                                                    .nvlink = true,
                                                    .switch_adds = true,
                                                    .sharp = true,
                                                    .nvlinks_join_all = true,
                                                    .nics = 8,
                                                    .inside = one_server.inside,
                                                    .outside = 3200_Gbps};

}  // namespace weft
