// What a network says about one schedule run on it.
#pragma once

#include "kernels/base/units.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

constexpr double gigabytes_per_second(Bytes bytes, SimTime time) {
  return time.ps > 0 ? static_cast<double>(bytes.count) * 1000.0 / static_cast<double>(time.ps) : 0.0;
}

// What became of the copies between one GPU and host memory beside the collective; only those that ended.
struct CopyResult {
  int gpu = 0;
  bool to_host = false;
  std::int64_t count = 0;
  Bytes bytes = {};   // of all of them
  SimTime busy = {};  // their durations, summed
  double GBps() const { return gigabytes_per_second(bytes, busy); }
  friend bool operator==(const CopyResult&, const CopyResult&) = default;
};

// What became of the flows of one entry of the traffic; only those that ended.
struct TrafficResult {
  std::int64_t streams = 0;  // pairs of sender and receiver
  std::int64_t count = 0;
  Bytes bytes = {};
  SimTime busy = {};      // their durations, summed
  std::int64_t late = 0;  // flows that began later than the period says, as the one before had not ended
  double GBps() const { return gigabytes_per_second(bytes, busy); }
  friend bool operator==(const TrafficResult&, const TrafficResult&) = default;
};

struct NetworkRun {
  SimTime finish;                                // the last rank's last end
  std::vector<SimTime> rank_finish = {};         // when each rank was done with all of its channels
  std::vector<std::int64_t> bytes_on_link = {};  // payload bytes that crossed each link, by LinkId
  std::vector<std::int64_t> bytes_from =
      {};  // bytes that each endpoint sent out of its server: payload, and on packet headers and retransmissions
  std::vector<CopyResult> copies = {};  // their bytes are not among those of links
  std::int64_t messages = 0;
  std::uint64_t events = 0;        // events handled; 0 if the network does not count them
  std::uint64_t solves = 0;        // sharing problems solved; flows alone on their links need none
  std::uint64_t solved_flows = 0;  // flows in these problems, summed
};

// All ranks begin an iteration `compute` after the last of them has ended the one before.
struct Repetition {
  int iterations = 1;
  SimTime compute = {};
};

// Of one iteration: from its first rank's start to its last rank's end.
struct Iteration {
  SimTime begin, end;
  SimTime time() const { return end - begin; }
};

// When a rank did an operation of its program.
struct OperationRecord {
  int rank = 0;
  int operation = 0;  // of the rank's list
  SimTime begin, end;
};

// One message of a run, for the timeline. `posted` is when the sender was ready; the message occupies its links in
// [active, ended].
struct MessageRecord {
  int channel = 0, step = 0;
  int from = 0, to = 0;  // ranks
  std::int64_t bytes = 0;
  SimTime posted, active, ended;
};

// What one rank did besides its messages, for the timeline: it computed, took part in a collective on a stream (in training an
// all-reduce), or a control message was on its way to it.
struct SpanRecord {
  enum class Kind { compute, collective, control };
  int rank = 0;
  Kind kind = Kind::compute;
  int stream = 0;  // of a collective
  std::string name = {};
  SimTime begin, end;
};

}  // namespace weft
