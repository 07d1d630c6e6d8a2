// The texts of results.csv, results.json and trace.json.
#pragma once

#include "sim/network/network_run.hpp"
#include "sim/results/result.hpp"
#include "sim/scenario/json_text.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace weft {

// RFC 4180. The columns, then one for each pointer that any case sweeps.
std::string to_csv(const std::vector<Result>& results, const std::vector<Case>& cases);

// The same rows with where they come from: version, order policy, every resolved scenario, and what failed.
std::string to_json(const std::vector<Result>& results, const std::vector<Case>& cases);

// Of what to_json() writes (`weft schema --results`).
Json results_schema();

// Trace events of one row in the Chrome format that Perfetto opens, comma-separated: a process for the row, a thread for
// each rank, a slice for each message in the time it occupied its links.
std::string trace_events(const std::vector<MessageRecord>& messages, std::size_t row_number, const std::string& row_label);
std::string to_trace(const std::vector<Result>& results, const std::vector<Case>& cases);

// The scenarios that results are of, each once, sorted.
std::vector<std::string> names_of(const std::vector<Case>& cases);

// Whether a file that begins with this text is one that the functions above wrote for scenarios of these names.
bool is_csv_of(std::string_view text, const std::vector<std::string>& names);
bool is_json_of(std::string_view text, const std::vector<std::string>& names);
bool is_trace_of(std::string_view text, const std::vector<std::string>& names);

}  // namespace weft
