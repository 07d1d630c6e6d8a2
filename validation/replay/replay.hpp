// `weft replay`: what was measured, simulated again; operation by operation.
#pragma once

#include "validation/replay/plan.hpp"

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace weft {

struct ReplayedOperation {
  std::string name;
  std::int64_t bytes = 0;
  std::optional<double> measured_us;  // from the first rank's start to the last one's end
  double simulated_us = 0;
  double late_us = 0;  // of the measured time, what passed before the last rank began: it is given, not simulated
};

struct ReplayResult {
  std::string name;
  std::vector<ReplayedOperation> operations;
  std::optional<double> measured_us;  // of the whole run
  double simulated_us = 0;
};

// Throws InputError if the scenario has fewer endpoints than the plan has ranks, RunError if no progress is possible.
ReplayResult replay(const ReplayPlan& plan, const Scenario& scenario);

struct ReplayArguments {
  std::string trace;
  std::string scenario;
  std::vector<std::string> set = {};     // "/pointer=value"
  std::vector<std::string> rename = {};  // "measured=ours"
  std::string output = {};               // a CSV of all operations
  std::optional<int> ranks = {};         // nothing: the trace's
  bool skip_bad = false;
  bool force = false;  // replace a file that this command did not write
};

int replay_command(const ReplayArguments&, std::ostream& out, std::ostream& err);

}  // namespace weft
