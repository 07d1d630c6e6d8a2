// Chakra execution traces (mlcommons/chakra): protobuf messages, each behind its length, or the JSON of Chakra's feeder. One file a rank.
#pragma once

#include "models/traces/traced_program.hpp"

#include <string>
#include <string_view>

namespace weft {

// What each says of a group's ranks: {"0": [0, 1, 2, 3]}, the file that ASTRA-sim takes as comm-group configuration.
std::vector<TracedGroup> parse_comm_groups(std::string_view text, const std::string& file);

bool looks_like_chakra(std::string_view bytes);
bool looks_like_chakra_json(std::string_view text);
bool looks_like_comm_groups(std::string_view text);

// Throws InputError as "FILE: node 17: ...".
TraceFile parse_chakra(std::string_view bytes, const std::string& file);
TraceFile parse_chakra_json(std::string_view text, const std::string& file);

}  // namespace weft
