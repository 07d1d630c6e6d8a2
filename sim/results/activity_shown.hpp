// Of what a network recorded as much as people look at: the links used most, the longest queues, windows and aggregators, over time.
#pragma once

#include "sim/network/timeline.hpp"

#include <string>
#include <vector>

namespace weft {

struct ShownSeries {
  std::string kind = {};  // "link", "queue", "window", "aggregators"
  std::string name = {};  // "link leaf0->spine1"
  std::string unit = {};  // of a link "%" of its bandwidth; of others it is of the highest level in each interval
  std::vector<double> values = {};
};

struct ShownActivity {
  SimTime width = {};  // of each interval
  std::vector<ShownSeries> series = {};
};

// The share of its bandwidth that a link was used, from the first start of a job to the last end.
std::vector<double> use_of_links(const Timeline&);

ShownActivity shown_activity(const Timeline&, std::size_t max_of_a_kind = 32, std::size_t max_intervals = TimeSeries::max_intervals);

}  // namespace weft
