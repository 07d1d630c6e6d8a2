// Weft's own trace (validation/measurements/README.md), of weft bench --trace and weft_torch.record: one file of all ranks, a JSON
// object on each line.
#pragma once

#include "models/traces/traced_program.hpp"

#include <string>
#include <string_view>

namespace weft {

bool looks_like_weft_trace(std::string_view text);

// Messages become sends and receives: in a run a rank goes on to a step of a channel when all it does in the one before is done, and to
// the next run when the one before is done. Collectives wait for the last one that their rank had ended before, and what lies between
// is computed again. Throws InputError with a line for each problem, "FILE: line 17: ...".
TraceFile parse_weft_trace(std::string_view text, const std::string& file);

}  // namespace weft
