// PyTorch's execution trace (ExecutionTraceObserver, JSON; PARAM replays it): which operators ran, not for how long. Of these the
// communication is read, in the order in which it was recorded.
#pragma once

#include "models/traces/traced_program.hpp"

#include <string>
#include <string_view>

namespace weft {

bool looks_like_pytorch_trace(std::string_view text);

// Throws InputError as "FILE: node 17: ...".
TraceFile parse_pytorch_trace(std::string_view text, const std::string& file);

}  // namespace weft
