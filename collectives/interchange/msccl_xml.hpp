// MSCCL's XML (msccl-tools, the MSCCL runtimes of NVIDIA and AMD), both dialects: <step> with a source and a destination, <op> with one
// buffer. Thread blocks run their steps in order; a step may wait for one of another block of its GPU; the k-th send of a block to a peer
// on a channel meets the k-th receive there.
#pragma once

#include "collectives/schedule/schedule.hpp"

#include <string>
#include <string_view>

namespace weft {

// Throws InputError with a line for each problem. What is read was proved.
Schedule read_msccl_xml(std::string_view text);

struct MscclOptions {
  std::string protocol = "Simple";  // LL, LL128
};

// Every transfer says its step and its place in it ("weft", which MSCCL skips): what is read back is the same schedule. Throws InputError
// where MSCCL has no words for it: servers, barriers, blocks that are not of one size.
std::string to_msccl_xml(const Schedule& schedule, const MscclOptions& options = {});

}  // namespace weft
