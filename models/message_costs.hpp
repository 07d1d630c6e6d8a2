// What messages cost by their size: copies or a handshake (models/hardware.hpp), and over what a profile's other values say the costs by
// size whose collective is "message".
#pragma once

#include "models/hardware.hpp"

#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

// The collective and the algorithm of a cost by size that is of every message of that size, whatever collective it is of, besides NCCL's:
// those are cut by its protocols, whose costs are by protocol.
inline constexpr std::string_view name_of_message_costs = "message";

class MessageCosts {
 public:
  explicit MessageCosts(const HardwareProfile&);

  bool none() const { return line_.empty(); }
  // Whether what comes after the bytes of a message depends on their number.
  bool by_size() const { return !none() || between_hosts_.is_known() || in_host_.is_known() || unpipelined_ps_per_byte_ > 0; }
  // Between the sizes that are known along a straight line of logarithms, beyond them as at the last; 1 where none is known.
  double factor(std::int64_t bytes) const;
  // An overhead of a message of this size.
  SimTime of(SimTime overhead, std::int64_t bytes) const { return none() || overhead.ps == 0 ? overhead : times(factor(bytes), overhead); }
  // The sender's overhead, with its part of what copies or a handshake cost. `copied`: the receiver's core copies the message from its
  // neighbour's memory, and what the library does besides comes after the bytes.
  SimTime sending(SimTime overhead, std::int64_t bytes, bool copied = false) const {
    return of(between_hosts_.is_known() && !copied ? overhead + times(sender_share_, between_hosts_.of(bytes)) : overhead, bytes);
  }
  // What comes after the path's latency, the rest of the copies or handshake included: more than the profile says multiplies that latency
  // too, less cannot shorten a cable.
  SimTime behind(SimTime latency, SimTime overhead, std::int64_t bytes, bool copied = false) const {
    return by_size() ? behind_known(latency, overhead, bytes, copied) : overhead;
  }
  // What it asks of its links: never less than its bytes at the links' full rate, where these are wires.
  std::int64_t wire_bytes(const HardwareProfile& hardware, std::int64_t bytes, bool copied = false) const {
    return none() ? hardware.wire_bytes(bytes) : wire_bytes_known(hardware, bytes, copied);
  }

 private:
  // Copies or a handshake; in parallel where it is not known from which size on it is the handshake.
  struct Protocol {
    double copy_ps_per_byte = 0, handshake_ps = 0;
    std::int64_t threshold = 0;
    bool is_known() const { return copy_ps_per_byte > 0 && handshake_ps > 0; }
    SimTime of(std::int64_t bytes) const;
  };
  static SimTime times(double factor, SimTime t) { return SimTime{std::llround(factor * static_cast<double>(t.ps))}; }
  SimTime behind_known(SimTime latency, SimTime overhead, std::int64_t bytes, bool copied) const;
  std::int64_t wire_bytes_known(const HardwareProfile&, std::int64_t bytes, bool copied) const;

  std::vector<std::pair<double, double>> line_;  // logarithm of a size, of its factor
  Protocol between_hosts_, in_host_;
  double unpipelined_ps_per_byte_ = 0, sender_share_ = 0;
};

}  // namespace weft
