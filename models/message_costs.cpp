#include "models/message_costs.hpp"

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

// 0 where it takes none.
double ps_per_byte(BitsPerSecond rate) {
  constexpr double ps_per_s = 1e12;
  return rate.count > 0 ? ps_per_s / rate.bytes_per_second() : 0;
}

double log_of(std::int64_t bytes) { return std::log(static_cast<double>(std::max<std::int64_t>(1, bytes))); }

}  // namespace

MessageCosts::MessageCosts(const HardwareProfile& hardware)
    : copy_ps_per_byte_(ps_per_byte(hardware.eager_copy_rate)),
      unpipelined_ps_per_byte_(ps_per_byte(hardware.unpipelined_rate)),
      handshake_ps_(static_cast<double>(hardware.handshake.ps)),
      sender_share_(hardware.sender_share),
      handshake_threshold_(hardware.handshake_threshold.count) {
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

// Copies or handshake; in parallel where it is not known which.
SimTime MessageCosts::protocol(std::int64_t bytes) const {
  const double copies_ps = copy_ps_per_byte_ * static_cast<double>(bytes);
  if (handshake_threshold_ > 0) return SimTime{std::llround(bytes < handshake_threshold_ ? copies_ps : handshake_ps_)};
  return SimTime{std::llround(copies_ps * handshake_ps_ / (copies_ps + handshake_ps_))};
}

SimTime MessageCosts::behind_known(SimTime latency, SimTime overhead, std::int64_t bytes, bool copied) const {
  const double f = factor(bytes);
  if (has_protocol() && !copied) overhead += times(1 - sender_share_, protocol(bytes));
  if (!copied) overhead += SimTime{std::llround(unpipelined_ps_per_byte_ * static_cast<double>(bytes))};
  return times(f, overhead) + times(std::max(0.0, f - 1), latency);
}

std::int64_t MessageCosts::wire_bytes_known(const HardwareProfile& hardware, std::int64_t bytes) const {
  const std::int64_t plain = hardware.wire_bytes(bytes);
  return std::max(std::llround(factor(bytes) * static_cast<double>(plain)),
                  std::llround(std::ceil(hardware.wire_efficiency * static_cast<double>(bytes))));
}

}  // namespace weft
