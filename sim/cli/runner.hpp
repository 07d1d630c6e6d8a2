// Rows to worker processes, one process a row and as many at once as asked for; results come back in the order of the rows.
#pragma once

#include "sim/network/run_progress.hpp"
#include "sim/network/timeline.hpp"
#include "sim/results/result.hpp"

#include <chrono>
#include <functional>
#include <vector>

namespace weft {

// Simulates one row, in a process of its own. `timeline` is null unless one is wanted.
using RunRow = std::function<Row(const RowRequest&, Timeline* timeline)>;

// The failure of a row that was not simulated because the run was interrupted.
inline constexpr const char* interrupted_row = "interrupted";

struct RowUnderWay {
  const RowRequest& request;
  std::chrono::seconds wall;
  RunProgress::Reached reached;  // zero on networks that do not report it
};

struct RunOptions {
  unsigned workers = 0;  // 0: one for each core
  bool trace = false, details = false;
  // As rows finish, in any order: the one that has, and all so far.
  std::function<void(const Result&, const std::vector<Result>&)> on_done = {};
  // Several times a second while rows are under way: the one that has been for longest.
  std::function<void(const RowUnderWay&)> on_wait = {};
};

// Never throws for a row: one whose process dies or throws has no row and says why. Where no further process can be started, those
// under way are waited for. After SIGINT, SIGTERM or SIGHUP no further row starts, those under way are ended, and what is missing
// says so.
std::vector<Result> run_rows(const std::vector<RowRequest>& requests, const std::vector<Case>& cases, const RunRow& run,
                             const RunOptions& options);

}  // namespace weft
