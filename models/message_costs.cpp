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
    : between_hosts_{.copy_ps_per_byte = ps_per_byte(hardware.eager_copy_rate),
                     .handshake_ps = static_cast<double>(hardware.handshake.ps),
                     .threshold = hardware.handshake_threshold.count},
      in_host_{.copy_ps_per_byte = ps_per_byte(hardware.host_eager_copy_rate),
               .handshake_ps = static_cast<double>(hardware.host_handshake.ps)},
      unpipelined_ps_per_byte_(ps_per_byte(hardware.unpipelined_rate)),
      sender_share_(hardware.sender_share) {
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

SimTime MessageCosts::Protocol::of(std::int64_t bytes) const {
  const double copies_ps = copy_ps_per_byte * static_cast<double>(bytes);
  if (threshold > 0) return SimTime{std::llround(bytes < threshold ? copies_ps : handshake_ps)};
  return SimTime{std::llround(copies_ps * handshake_ps / (copies_ps + handshake_ps))};
}

SimTime MessageCosts::behind_known(SimTime latency, SimTime overhead, std::int64_t bytes, bool copied) const {
  const double f = factor(bytes);
  if (const Protocol& protocol = copied ? in_host_ : between_hosts_; protocol.is_known())
    overhead += times(copied ? 1 : 1 - sender_share_, protocol.of(bytes));
  if (!copied) overhead += SimTime{std::llround(unpipelined_ps_per_byte_ * static_cast<double>(bytes))};
  return times(f, overhead) + times(std::max(0.0, f - 1), latency);
}

std::int64_t MessageCosts::wire_bytes_known(const HardwareProfile& hardware, std::int64_t bytes, bool copied) const {
  const std::int64_t needed = std::llround(factor(bytes) * static_cast<double>(hardware.wire_bytes(bytes)));
  return copied ? needed : std::max<std::int64_t>(needed, std::llround(std::ceil(hardware.wire_efficiency * static_cast<double>(bytes))));
}

}  // namespace weft
