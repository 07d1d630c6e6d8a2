// results.csv, results.json and trace.json.
#pragma once

#include "sim/network/network_run.hpp"
#include "sim/results/plan.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace weft {

// RFC 4180. The columns, then one for each pointer that any case sweeps.
std::string to_csv(const std::vector<Result>& results, const std::vector<Case>& cases);

// The same rows with where they come from: version, order policy, every resolved scenario, and what failed.
std::string to_json(const std::vector<Result>& results, const std::vector<Case>& cases);

// Trace events of one row in the Chrome format that Perfetto opens, comma-separated: a process for the row, a thread for
// each rank, a slice for each message in the time it occupied its links.
std::string trace_events(const std::vector<MessageRecord>& messages, std::size_t row_number, const std::string& row_label);
std::string to_trace(const std::vector<Result>& results);

// A folder for results, made if it is missing. Throws InputError where nothing can be written: before anything runs.
void prepare_output(const std::filesystem::path& folder);

// results.csv and results.json, and trace.json if any result has a trace. Nothing is written when there is no row.
void write_results(const std::filesystem::path& folder, const std::vector<Result>& results, const std::vector<Case>& cases);

}  // namespace weft
