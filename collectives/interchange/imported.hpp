// A schedule that somebody else wrote, in a file: MSCCL XML or MSCCL++ JSON. Proved before anything runs it.
#pragma once

#include "collectives/schedule/schedule.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace weft {

struct ImportedSchedule {
  std::string file = {};  // as it was named
  std::shared_ptr<const Schedule> schedule = {};
  bool given() const { return schedule != nullptr; }
  friend bool operator==(const ImportedSchedule& a, const ImportedSchedule& b) { return a.file == b.file; }
};

inline constexpr std::size_t max_schedule_bytes = 256 << 20;

// Throws InputError with a line for each problem, "line 12: ..." or "/gpus/0/threadblocks/1/ops/3: ..."; a schedule that does not do what
// its collective promises is refused too.
Schedule read_schedule(std::string_view text);

// The same for a file, with its name before each problem.
ImportedSchedule import_schedule(const std::string& path, std::string named);

// Whether some transfer takes a chunk to one that is shorter or longer where the message is no multiple of its chunks.
bool needs_equal_chunks(const Schedule& schedule);

}  // namespace weft
