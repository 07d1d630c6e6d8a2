#include "models/message_costs.hpp"

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

double log_of(std::int64_t bytes) { return std::log(static_cast<double>(std::max<std::int64_t>(1, bytes))); }

}  // namespace

MessageCosts::MessageCosts(const HardwareProfile& hardware) {
  for (const CostAtSize& cost : hardware.cost_by_size)
    if (cost.collective == name_of_message_costs) line_.emplace_back(log_of(cost.size.count), std::log(cost.factor));
  std::ranges::sort(line_);
}

double MessageCosts::factor(std::int64_t bytes) const {
  if (line_.empty()) return 1;
  const double at = log_of(bytes);
  const auto above = std::ranges::lower_bound(line_, at, {}, &std::pair<double, double>::first);
  if (above == line_.begin()) return std::exp(line_.front().second);
  if (above == line_.end()) return std::exp(line_.back().second);
  const auto below = std::prev(above);
  const double share = (at - below->first) / (above->first - below->first);
  return std::exp(below->second + share * (above->second - below->second));
}

SimTime MessageCosts::behind_known(SimTime latency, SimTime overhead, std::int64_t bytes) const {
  const double f = factor(bytes);
  return times(f, overhead) + times(std::max(0.0, f - 1), latency);
}

std::int64_t MessageCosts::wire_bytes_known(const HardwareProfile& hardware, std::int64_t bytes) const {
  const std::int64_t plain = hardware.wire_bytes(bytes);
  return std::max(std::llround(factor(bytes) * static_cast<double>(plain)),
                  std::llround(std::ceil(hardware.wire_efficiency * static_cast<double>(bytes))));
}

}  // namespace weft
