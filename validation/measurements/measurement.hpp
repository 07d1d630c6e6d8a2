// A time that somebody measured, from whatever file it came.
#pragma once

#include "kernels/base/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct Measurement {
  std::string source = {};  // as the file says, or the file
  std::string system = {};
  int nodes = 0;  // 0: the file does not say, as for gpus (of a node) and ranks
  int gpus = 0;
  int ranks = 0;
  std::string collective = {};  // as in collectives/schedule.hpp, or "latency" (one way) or "bandwidth" (one message of a window)
  std::string algorithm = {};   // in the file's own words; empty: whatever the library chose
  std::int64_t size_bytes = 0;
  double time_us = 0;
  bool in_place = false;
  std::string where = {};  // FILE:LINE
};

struct ReadOptions {
  bool skip_bad = false;        // go on without the lines that cannot be used
  std::string collective = {};  // for files that do not say
};

struct Measurements {
  std::string format;  // what the file was taken for
  std::vector<Measurement> rows;
  std::vector<std::string> skipped;  // with skip_bad: "FILE:LINE: found, allowed"
};

// Reads one file of any known format, told by its content: nccl-tests text or JSON (-J), an OSU table, our CSV, our trace.
// Throws InputError with every bad line; with skip_bad only when no line is good.
Measurements read_measurements(const std::filesystem::path& file, const ReadOptions& options = {});
Measurements parse_measurements(std::string_view text, const std::string& file, const ReadOptions& options = {});

}  // namespace weft
