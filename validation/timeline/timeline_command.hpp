// `weft timeline`: measured traces and simulated ones in one file for Perfetto, one above the other.
#pragma once

#include "validation/measurements/trace.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace weft {

struct TimelineArguments {
  std::vector<std::string> files = {};  // of weft bench --trace, or trace.json of weft run
  std::string output = {};
  bool force = false;
};

int timeline_command(const TimelineArguments&, std::ostream& out);

// The trace events of a measured run, comma-separated: tracks and arrows as of a simulated one, from its first start on.
std::string measured_events(const Trace& trace, const TraceRun& run, std::size_t process);

}  // namespace weft
