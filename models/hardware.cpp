#include "models/hardware.hpp"

#include "models/validation.hpp"

namespace weft {

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
  // Written so that not-a-number fails too.
  found.require(profile.wire_efficiency > 0 && profile.wire_efficiency <= 1, "/wire_efficiency",
                "must be more than 0 and at most 1, got {}", profile.wire_efficiency);
  return found.take();
}

}  // namespace weft
