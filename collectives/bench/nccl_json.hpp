// The file that nccl-tests writes with -J (version 3), of a run here.
#pragma once

#include "collectives/bench/measure.hpp"
#include "collectives/bench/settings/settings.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weft::bench {

// Of a run besides its settings and rows.
struct RunWritten {
  std::string began, ended;  // when
  std::string host, about;   // of this process, and what the ranks run on
  double busbw_average = 0;
  std::int64_t wrong = 0;
};

// One object, with "args" that begin with the program of nccl-tests that measures the collective, and "tool" and each result's "algorithm"
// besides what nccl-tests has. Booleans and the root are strings there.
std::string nccl_json(const Settings& settings, const std::vector<Row>& rows, const RunWritten& written);

}  // namespace weft::bench
