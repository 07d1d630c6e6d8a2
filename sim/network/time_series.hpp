// How much of something there was over the time of a run, in a bounded number of equal intervals: whenever the run outgrows them, two
// become one.
#pragma once

#include "kernels/base/units.hpp"

#include <cstddef>
#include <vector>

namespace weft {

class TimeSeries {
 public:
  enum class Of { amount, level };  // an interval has the sum of its amounts, or the highest of its levels
  static constexpr std::size_t max_intervals = 512;

  explicit TimeSeries(Of of) : of_(of) {}

  // An amount, evenly over [begin, end].
  void add(SimTime begin, SimTime end, double amount);
  // A level, from `at` on, which is not before the last one's.
  void set(SimTime at, double level);

  bool empty() const { return values_.empty(); }
  SimTime width() const { return {width_ps_}; }

  // By interval of `width`, up to `end`. `width`: this one's, or a power of two times it (common_width()).
  std::vector<double> over(SimTime width, SimTime end) const;

 private:
  std::size_t reach(SimTime at);
  void halve();

  Of of_;
  std::int64_t width_ps_ = 1 << 12;
  std::vector<double> values_;
  double level_ = 0;
};

// In which runs until `end` fit into max_intervals, and none of the series has a larger one.
SimTime common_width(const std::vector<const TimeSeries*>& series, SimTime end);

}  // namespace weft
