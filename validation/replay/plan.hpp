// A trace as something to run again: one long schedule of all that the ranks did, with what each computed in between.
#pragma once

#include "sim/scenario/scenario.hpp"
#include "validation/measurements/trace.hpp"
#include "validation/renames.hpp"

#include <optional>
#include <string>
#include <vector>

namespace weft {

struct Interval {
  SimTime start, end;
};

// An operation of all ranks: a collective, or one step of one.
struct ReplayOperation {
  std::string name = {};   // "allreduce, ring", "step 3"
  std::int64_t bytes = 0;  // of the collective; of a step, the most that a rank sends
  int channel = 0;
  int first_step = 0, steps = 1;
  std::vector<std::optional<Interval>> measured = {};  // by rank; nothing where the rank took no part or the trace is of other ranks
  std::vector<SimTime> compute_before = {};            // by rank; empty: nothing
};

struct ReplayPlan {
  std::string name = {};
  Schedule schedule = {};  // its chunks are units of element_bytes
  std::int64_t elements = 0;
  std::int64_t element_bytes = 1;
  std::vector<SimTime> start = {};               // by rank
  std::vector<ReplayOperation> operations = {};  // by channel, then in their order
};

struct ReplayChoices {
  int ranks = 0;  // 0: the trace's. Others: the same operations by so many, rank r computing what rank r mod (the trace's) did
  Renames renames = {};
};

// Throws InputError where the trace does not hold together: sends without their receives, collectives that not all ranks
// took part in or in different orders, algorithms that Weft does not have.
ReplayPlan plan_replay(const Trace& trace, const TraceRun& run, const Scenario& scenario, const ReplayChoices& choices);

}  // namespace weft
