// A trace as a program: the calls that the ranks made, and what each computed before. Calls that overlapped are on streams of
// their own. A trace does not say what waits for what: a call is taken to wait for the last one that its rank had ended before.
#pragma once

#include "models/program.hpp"
#include "sim/scenario/scenario.hpp"
#include "validation/measurements/renames.hpp"
#include "validation/measurements/trace.hpp"

#include <optional>
#include <string>
#include <vector>

namespace weft {

struct Interval {
  SimTime start, end;
};

// A call of the program: a collective, or one step of one.
struct ReplayOperation {
  std::string name = {};                               // "allreduce, ring", "step 3"
  std::int64_t bytes = 0;                              // of the collective; of a step, the most that a rank sends
  std::vector<std::optional<Interval>> measured = {};  // by rank; nothing where the rank took no part or the trace is of other ranks
};

struct ReplayPlan {
  std::string name = {};
  Program program = {};
  std::vector<ReplayOperation> operations = {};  // by call
};

struct ReplayChoices {
  int ranks = 0;  // 0: the trace's. Others: the same operations by so many, rank r computing what rank r mod (the trace's) did
  Renames renames = {};
};

// Throws InputError where the trace does not hold together: sends without their receives, collectives that not all ranks
// took part in or in different orders, algorithms that Weft does not have.
ReplayPlan plan_replay(const Trace& trace, const TraceRun& run, const Scenario& scenario, const ReplayChoices& choices);

}  // namespace weft
