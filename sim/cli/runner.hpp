// Rows to worker processes, one process a row and as many at once as asked for; results come back in the order of the rows.
#pragma once

#include "sim/network/network_run.hpp"
#include "sim/network/run_progress.hpp"
#include "sim/results/plan.hpp"

#include <functional>
#include <vector>

namespace weft {

// Simulates one row, in a process of its own. `messages` is null unless a timeline is wanted.
using RunRow = std::function<Row(const RowRequest&, std::vector<MessageRecord>* messages)>;

// The failure of a row that was not simulated because the run was interrupted.
inline constexpr const char* interrupted_row = "interrupted";

struct RunOptions {
  unsigned workers = 0;  // 0: one for each core
  bool trace = false;
  // As rows finish, in any order: the one that has, and all so far.
  std::function<void(const Result&, const std::vector<Result>&)> on_done = {};
  // While nothing finishes, a few times a second: the first row under way, and how far it has come.
  std::function<void(const RowRequest&, RunProgress::Reached)> on_wait = {};
};

// Never throws for a row: one whose process dies or throws has no row and says why. After SIGINT or SIGTERM no further row
// starts, those under way are ended, and what is missing says so.
std::vector<Result> run_rows(const std::vector<RowRequest>& requests, const std::vector<Case>& cases, const RunRow& run,
                             const RunOptions& options);

}  // namespace weft
