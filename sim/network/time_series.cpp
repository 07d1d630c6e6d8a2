#include "sim/network/time_series.hpp"

#include "kernels/base/error.hpp"

#include <algorithm>

namespace weft {

void TimeSeries::halve() {
  const std::size_t half = (values_.size() + 1) / 2;
  for (std::size_t i = 0; i < half; ++i) {
    const double second = 2 * i + 1 < values_.size() ? values_[2 * i + 1] : 0;
    values_[i] = of_ == Of::amount ? values_[2 * i] + second : std::max(values_[2 * i], second);
  }
  values_.resize(half);
  width_ps_ *= 2;
}

// The interval of this date, which exists from now on.
std::size_t TimeSeries::reach(SimTime at) {
  while (static_cast<std::size_t>(at.ps / width_ps_) >= max_intervals) halve();
  const auto interval = static_cast<std::size_t>(at.ps / width_ps_);
  if (interval >= values_.size()) values_.resize(interval + 1, of_ == Of::level ? level_ : 0);
  return interval;
}

void TimeSeries::add(SimTime begin, SimTime end, double amount) {
  check(of_ == Of::amount, "an amount is added to levels");
  const std::size_t last = reach(end);
  const auto first = static_cast<std::size_t>(begin.ps / width_ps_);
  if (first == last) {
    values_[last] += amount;
    return;
  }
  const double per_ps = amount / static_cast<double>((end - begin).ps);
  for (std::size_t i = first; i <= last; ++i) {
    const std::int64_t from = std::max(begin.ps, static_cast<std::int64_t>(i) * width_ps_);
    const std::int64_t to = std::min(end.ps, static_cast<std::int64_t>(i + 1) * width_ps_);
    values_[i] += per_ps * static_cast<double>(to - from);
  }
}

void TimeSeries::set(SimTime at, double level) {
  check(of_ == Of::level, "a level among amounts");
  const std::size_t interval = reach(at);
  values_[interval] = std::max(values_[interval], level);
  level_ = level;
}

std::vector<double> TimeSeries::over(SimTime width, SimTime end) const {
  TimeSeries wider = *this;
  while (wider.width_ps_ < width.ps) wider.halve();
  check(wider.width_ps_ == width.ps, "a series in intervals of {} ps is asked for intervals of {}", width_ps_, width.ps);
  wider.values_.resize(static_cast<std::size_t>((end.ps + width.ps - 1) / width.ps), of_ == Of::level ? level_ : 0);
  return std::move(wider.values_);
}

SimTime common_width(const std::vector<const TimeSeries*>& series, SimTime end) {
  SimTime width = TimeSeries(TimeSeries::Of::amount).width();
  for (const TimeSeries* one : series) width = std::max(width, one->width());
  while (width.ps * static_cast<std::int64_t>(TimeSeries::max_intervals) < end.ps) width = width + width;
  return width;
}

}  // namespace weft
