// Our own trace of measured operations: JSON lines, described in validation/measurements/README.md. Written by `weft bench --trace`, or
// by whoever wants an application's operations replayed.
#pragma once

#include "kernels/base/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// What one rank did from start to end. `op` is "send", "receive", "receive_reduce" or "reduce" (a message of one step of a
// schedule, to or from `peer`), or a collective that all ranks take part in.
struct TraceOperation {
  int rank = 0;
  std::string op;
  int peer = 0;
  int channel = 0, step = 0, message = 0;
  std::int64_t bytes = 0;
  std::string algorithm = {};       // of a collective
  double start_us = 0, end_us = 0;  // on rank 0's clock
  std::size_t line = 0;
};

// Operations that belong together: one call of a schedule with its messages, or a sequence of collectives.
struct TraceRun {
  std::string algorithm = {};
  std::int64_t size_bytes = 0;
  std::vector<double> times_us = {};  // of calls that were not traced
  std::vector<TraceOperation> operations = {};
  std::size_t line = 0;
};

struct Trace {
  std::string file;
  std::string system = {};
  std::string collective = {};
  std::string dtype = "float32";
  int ranks = 0;
  int root = 0;
  int channels = 1, pieces = 1, group = 0, servers = 0;  // settings of the algorithm
  std::string inner = {}, up = {}, down = {};
  std::string compression = {};  // empty: none
  int extra_servers = 0;         // of its servers, those that are ranks behind the others
  std::vector<TraceRun> runs = {};
  std::vector<std::string> skipped = {};  // bad lines, where they were to be skipped

  int with_servers() const { return ranks + extra_servers; }
};

// Throws InputError with every bad line as "FILE:LINE: found, allowed"; with skip_bad only when nothing is left.
Trace parse_trace(std::string_view text, const std::string& file, bool skip_bad = false);
Trace read_trace(const std::filesystem::path& file, bool skip_bad = false);

}  // namespace weft
