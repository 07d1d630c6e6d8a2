// A walk over a schedule that follows what every rank holds: the quick half of verify.hpp.
#pragma once

#include "collectives/schedule/contents.hpp"
#include "collectives/schedule/fingerprint.hpp"
#include "collectives/schedule/schedule.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft {

// What went wrong in all walks over a schedule.
struct Findings {
  static constexpr std::size_t max_problems = 8;
  std::vector<std::string> problems;
  std::int64_t wrong_chunks = 0;
  bool enough() const { return problems.size() >= max_problems; }
};

// Some channels of a schedule and chunks that they touch. What is moved to another place (`into`) has both places in the part.
struct Part {
  std::size_t first_channel = 0, last_channel = 0;  // [first, last)
  ChunkSet chunks;
};

// Whether all indices are within the schedule.
bool in_range(const Schedule&, const Transfer&);

// Walks the channels of the part, following its chunks only, and adds to the findings what is wrong with them. Gives up and
// returns false when ranks hold more than `max_ranges` ranges of chunks together.
bool replay(const Schedule& schedule, const Part& part, const Shares& shares, std::int64_t max_ranges, Findings& findings);

}  // namespace weft
