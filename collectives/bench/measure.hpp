// The measurement: every algorithm and size, on all ranks, timed, checked and perhaps traced; rank 0 hears of all of it.
#pragma once

#include "collectives/bench/row.hpp"
#include "collectives/bench/settings/settings.hpp"
#include "collectives/bench/worlds/stream_world.hpp"
#include "collectives/bench/worlds/trace.hpp"
#include "collectives/bench/worlds/world.hpp"

#include <functional>
#include <string>
#include <vector>

namespace weft::bench {

struct Hear {
  std::function<void(const std::string& text)> note = {};  // before the first algorithm
  std::function<void(const std::string& algorithm)> begin;
  std::function<void(const Row&)> row;
  std::function<void(const std::vector<ClockOffset>&, const std::vector<TracedRun>&)> traces;
};

// Called once in every process of the run; `hear` is called in rank 0's. Throws RunError, and InputError where an
// algorithm cannot run on so many ranks.
void measure(World&, const Settings&, const Hear& hear);

// The same on streams: one thread of one process runs all ranks. Times are those of the devices.
void measure(StreamWorld&, const Settings&, const Hear& hear);

}  // namespace weft::bench
