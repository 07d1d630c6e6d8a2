// What the packets of a run met on their way.
#pragma once

#include "kernels/base/units.hpp"
#include "models/fabric/fabric.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

// One priority of one link: its queue is at the device the link leaves. The priority after the fabric's last is the
// control class (acknowledgements, notifications).
struct QueueReport {
  LinkId link = 0;
  int priority = 0;
  Bytes high_water;          // most bytes that waited
  std::int64_t marked = 0;   // packets
  std::int64_t dropped = 0;  // because the buffer was full or the link had failed
  std::int64_t pauses = 0;   // times the far end stopped it
  SimTime paused;            // how long in all
  bool quiet() const { return high_water.count == 0 && marked == 0 && dropped == 0 && pauses == 0; }
};

struct PacketReport {
  std::vector<QueueReport> queues;       // those that are not quiet, by link and priority
  std::vector<std::int64_t> wire_bytes;  // by link: all packets, headers, resent and control ones included
  std::vector<Bytes> switch_high_water;  // by node: most bytes in its shared buffer; 0 at endpoints
  std::int64_t packet_hops = 0;
  std::int64_t packets = 0;  // data packets sent, resent ones included
  std::int64_t resent = 0;
  std::int64_t marked = 0, dropped = 0, lost = 0, corrupted = 0, pauses = 0, timeouts = 0, notifications = 0;
};

// The same for a reader: names for numbers, the longest queues first.
struct QueueSummary {
  std::string link;
  int priority = 0;
  Bytes high_water;
  std::int64_t marked = 0, dropped = 0, pauses = 0;
  SimTime paused;
  friend bool operator==(const QueueSummary&, const QueueSummary&) = default;
};

struct PacketSummary {
  std::int64_t packets = 0, resent = 0, marked = 0, dropped = 0, lost = 0, corrupted = 0, pauses = 0, timeouts = 0, notifications = 0;
  std::string fullest_switch = {};  // by the high water of its buffer; empty: nothing waited in any
  Bytes switch_high_water = {};
  std::int64_t queues_in_use = 0;         // in which something waited, was marked, dropped or paused
  std::vector<QueueSummary> queues = {};  // of these the longest
  bool quiet() const { return queues_in_use == 0 && resent == 0 && lost == 0 && corrupted == 0 && timeouts == 0; }
  friend bool operator==(const PacketSummary&, const PacketSummary&) = default;
};

PacketSummary summary(const PacketReport& report, const Fabric& fabric, std::size_t max_queues = 16);

}  // namespace weft
