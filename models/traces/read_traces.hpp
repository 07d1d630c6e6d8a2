// Trace files of any known format, one of all ranks or one a rank, as one program.
#pragma once

#include "models/traces/traced_program.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// A folder stands for its files, in the order of their names. Throws InputError with what is wrong with each file.
TracedProgram read_traces(const std::vector<std::filesystem::path>& files);

// One file's bytes, unpacked; `file` tells the rank where they do not.
TraceFile parse_trace_file(std::string_view bytes, const std::string& file);

// Files as one program; `groups` names the ranks of groups that the files only name.
TracedProgram joined(std::vector<TraceFile> files, const std::vector<TracedGroup>& groups);

// The rank that a name of a file ends with: trace.3.et, rank-3.json.gz, worker3_step_12.pt.trace.json; or TracedRank::not_said.
Rank rank_in_name(const std::string& file);

}  // namespace weft
