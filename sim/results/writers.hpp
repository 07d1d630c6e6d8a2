// The texts of results.csv, results.json and trace.json.
#pragma once

#include "sim/json/json_text.hpp"
#include "sim/results/result.hpp"

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

// The trace events of all rows (trace_events.hpp).
std::string to_trace(const std::vector<Result>& results, const std::vector<Case>& cases);

// The scenarios that results are of, each once, sorted.
std::vector<std::string> names_of(const std::vector<Case>& cases);

// Whether a file that begins with this text is one that the functions above wrote for scenarios of these names.
bool is_csv_of(std::string_view text, const std::vector<std::string>& names);
bool is_json_of(std::string_view text, const std::vector<std::string>& names);
bool is_trace_of(std::string_view text, const std::vector<std::string>& names);

}  // namespace weft
