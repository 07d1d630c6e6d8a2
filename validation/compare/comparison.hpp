// Measured and simulated times side by side.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

struct Compared {
  std::int64_t size_bytes = 0;
  std::string algorithm;
  double measured_us = 0;
  double simulated_us = 0;
  // (simulated - measured) / measured.
  double error_percent() const { return measured_us > 0 ? 100 * (simulated_us - measured_us) / measured_us : 0; }
};

// A line for each row, and one with the median and the largest error, both without sign.
std::string to_table(const std::vector<Compared>& rows);

}  // namespace weft
