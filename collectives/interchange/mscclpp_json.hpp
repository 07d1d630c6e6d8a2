// MSCCL++'s execution plans (JSON): thread blocks that read and write the memory of other GPUs, with signals, packets, barriers and
// semaphores to keep them in order.
#pragma once

#include "collectives/schedule/schedule.hpp"

#include <string>
#include <string_view>

namespace weft {

inline constexpr int max_mscclpp_gpus = 1 << 10;  // of a plan that is read

// Throws InputError with a line for each problem. What is read was proved, and no two of its thread blocks touch a chunk without an order.
Schedule read_mscclpp_json(std::string_view text);

struct MscclppOptions {
  std::string protocol = "Simple";  // or LL
};

// A thread block for each rank and channel. Every transfer says its channel, its step and its place in it ("weft", which MSCCL++ skips):
// what is read back is the same schedule. Throws InputError where MSCCL++ has no words for it: servers, barriers, blocks that are not of
// one size.
std::string to_mscclpp_json(const Schedule& schedule, const MscclppOptions& options = {});

}  // namespace weft
