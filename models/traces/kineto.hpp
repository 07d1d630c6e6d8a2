// Traces of the PyTorch profiler (Kineto): what one rank's GPU ran, or, with gloo, which collectives its threads did.
#pragma once

#include "models/traces/traced_program.hpp"

#include <string>
#include <string_view>

namespace weft {

bool looks_like_kineto(std::string_view text);

// Throws InputError as "FILE: event 17: ...".
TraceFile parse_kineto(std::string_view text, const std::string& file);

}  // namespace weft
