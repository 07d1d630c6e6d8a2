#include "models/hardware.hpp"

#include "models/fabric/validation.hpp"

#include <cmath>

namespace weft {

std::string_view name_of(SendQueue queue) {
  switch (queue) {
    case SendQueue::channel:
      return "channel";
    case SendQueue::rank:
      return "rank";
    case SendQueue::nic:
      return "nic";
  }
  return "";
}

std::int64_t HardwareProfile::wire_bytes(std::int64_t bytes) const {
  if (eager_efficiency == 1.0 || bytes >= rendezvous_threshold.count) return bytes;
  return std::llround(static_cast<double>(bytes) / eager_efficiency);
}

BitsPerSecond HardwareProfile::reduce_rate_for(Bytes message) const {
  return message > reduce_cache && reduce_rate_beyond_cache.count > 0 ? reduce_rate_beyond_cache : reduce_rate;
}

std::vector<Problem> problems(const HardwareProfile& profile) {
  Problems found;
  const auto not_negative = [&](const char* where, auto value) {
    found.require(value >= decltype(value){}, where, "must not be negative, got {}", to_string(value));
  };
  not_negative("/send_overhead", profile.send_overhead);
  not_negative("/receive_overhead", profile.receive_overhead);
  not_negative("/first_use", profile.first_use);
  not_negative("/rendezvous", profile.rendezvous);
  not_negative("/rendezvous_threshold", profile.rendezvous_threshold);
  not_negative("/reduce_launch", profile.reduce_launch);
  not_negative("/reduce_rate", profile.reduce_rate);
  not_negative("/reduce_cache", profile.reduce_cache);
  not_negative("/reduce_rate_beyond_cache", profile.reduce_rate_beyond_cache);
  not_negative("/stream_rate", profile.stream_rate);
  not_negative("/staging_rate", profile.staging_rate);
  const auto efficiency = [&](const char* where, double value) {
    // Written so that not-a-number fails too.
    found.require(value > 0 && value <= 1, where, "must be more than 0 and at most 1, got {}", value);
  };
  efficiency("/wire_efficiency", profile.wire_efficiency);
  efficiency("/eager_efficiency", profile.eager_efficiency);
  return found.take();
}

}  // namespace weft
