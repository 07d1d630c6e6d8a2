// An agent that takes part in an in-network all-reduce, and what all of them count.
#pragma once

#include "collectives/in_network/datagram.hpp"
#include "kernels/base/units.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

namespace weft {

// What a packet costs the host that sends or receives it. A host handles one after another, of all its agents.
struct HostCost {
  SimTime per_packet = {};
  BitsPerSecond bandwidth{0};  // at which it goes through a packet's bytes; 0: at once
  SimTime jitter = {};         // a packet takes up to so much longer, evenly distributed
  bool any() const { return per_packet.ps > 0 || bandwidth.count > 0 || jitter.ps > 0; }
  // Of one packet, without jitter.
  SimTime of(Bytes packet) const { return bandwidth.count > 0 ? per_packet + packet / bandwidth : per_packet; }
  friend bool operator==(const HostCost&, const HostCost&) = default;
};

// Sums over agents, but for the largest.
struct InNetworkStatistics {
  std::int64_t sent = 0, resent = 0, timeouts = 0, marks = 0;  // by workers, in packets
  std::int64_t overflows = 0;                                  // agents that were told of a sum that does not fit
  std::int64_t floats = 0;                                     // results that servers added as floating point, since a sum did not fit
  std::int64_t packets = 0, whole = 0, merged = 0;             // of the message; that came as one sum; that servers added
  std::int64_t seen = 0, aggregated = 0, collisions = 0;       // by switches
  std::int64_t malformed = 0;
  std::int64_t largest_window = 0, most_in_use = 0;

  void add(const InNetworkStatistics& o) {
    sent += o.sent, resent += o.resent, timeouts += o.timeouts, marks += o.marks, overflows += o.overflows;
    packets += o.packets, whole += o.whole, merged += o.merged, seen += o.seen, aggregated += o.aggregated, collisions += o.collisions;
    malformed += o.malformed, floats += o.floats;
    largest_window = std::max(largest_window, o.largest_window);
    most_in_use = std::max(most_in_use, o.most_in_use);
  }
};

class InNetworkAgent : public Agent {
 public:
  virtual InNetworkStatistics counted() const = 0;

  // Of an endpoint's agent of an open task (InNetworkTask): one more round, of so many packets. A worker's begins with its next start,
  // which need not wait for the end of the round before: packets are numbered on, and go on. Rounds end in their order.
  virtual void add_round(std::uint32_t /*packets*/) {}
  // Rounds that have ended at a worker.
  virtual std::int64_t rounds_ended() const { return 0; }
};

// The values of one worker, by packet; the last packet's may be padded with zeros. A run of sizes only has none.
class PacketValues {
 public:
  virtual ~PacketValues() = default;
  virtual void read(std::uint32_t packet, std::span<std::int32_t> values) = 0;
  virtual void write(std::uint32_t packet, std::span<const std::int32_t> sums) = 0;

  // For sums that do not fit: whether a value of the packet read last did not, and the same values as floating point, in as many words.
  virtual bool saturated() const { return false; }
  virtual void read_floats(std::uint32_t /*packet*/, std::span<std::int32_t> /*words*/) {}
  virtual void write_floats(std::uint32_t /*packet*/, std::span<const std::int32_t> /*words*/) {}
};

}  // namespace weft
