// What was measured of one algorithm at one size, and what the table makes of it.
#pragma once

#include "collectives/bench/settings/settings.hpp"
#include "collectives/executors/reference.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weft::bench {

// One line of the table. A run starts at a barrier; its time is that of the slowest rank, extra servers not among them. Where the
// iterations are back to back there is one run of all of them, whose time is divided.
struct Row {
  std::string algorithm;
  std::int64_t size_bytes = 0;
  std::int64_t count = 0;                    // elements as nccl-tests counts them: per rank, where ranks hold different blocks
  std::vector<double> times_us = {};         // in place; of all-to-all and over udp the only ones
  std::vector<double> out_of_place_us = {};  // empty: not measured
  std::int64_t wrong = 0, out_of_place_wrong = 0;
  std::string first_wrong = {};  // of both
  std::string note = {};         // what else there is to say; lines after the first begin with "# "

  double median_us() const { return quantile_us(0.5); }
  double quantile_us(double part) const;  // of times_us
};

// The smallest time that so large a part of the runs did not exceed.
double quantile_of(std::vector<double> times_us, double part);
double variation_percent(const std::vector<double>& times_us);  // standard deviation over mean

// Bytes per second that a rank's links must carry for each byte per second of `algbw` (nccl-tests, PERFORMANCE.md).
double bus_factor(Collective, int ranks);

// What every run starts from, and a row without its times.
TestData test_data(const Settings&);
Row row_of(const Settings&, const std::string& algorithm, std::int64_t elements);

}  // namespace weft::bench
