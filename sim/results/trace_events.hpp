// trace.json: trace events in the Chrome JSON format that Perfetto and chrome://tracing open. On each track slices lie one behind the other
// or inside each other, never partly over each other: where they would, a track gets further lanes.
#pragma once

#include "sim/json/json_text.hpp"
#include "sim/network/timeline.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weft {

// What a track is of; tracks are shown in the order of their keys.
struct TrackKey {
  int group = 0;  // ranks first, then those beside them
  std::string who = {};
  int rank = 0;
  enum class What { computes, stream, pushes, control, sends, receives, reduces } what = What::sends;
  int number = 0;          // of the channel or stream
  std::string label = {};  // what a reader sees
  auto operator<=>(const TrackKey&) const = default;
};

// The events of one process: a row of a run, or a measured run.
class TraceEvents {
 public:
  TraceEvents(std::size_t process, std::string name) : process_(process), name_(std::move(name)) {}

  // Returns its number, for arrows. Times are shown in whole nanoseconds, which is what Perfetto counts in.
  std::size_t slice(const TrackKey& track, std::string name, SimTime begin, SimTime end, Json args = {});
  // From the beginning of a slice to the end of another.
  void arrow(std::size_t from, std::size_t to) { arrows_.push_back({from, to}); }
  void counter(const std::string& name, const std::string& unit, SimTime at, double value);

  // Comma-separated.
  std::string text() const;

 private:
  struct Slice {
    int track;
    std::int64_t begin_ns, end_ns;
    std::string name_and_args;
  };
  struct Arrow {
    std::size_t from, to;
  };

  std::size_t process_;
  std::string name_;
  std::map<TrackKey, int> tracks_ = {};
  std::vector<Slice> slices_ = {};
  std::vector<Arrow> arrows_ = {};
  std::string counters_ = {};
};

// One row: a track for each channel on which a rank sends or receives, for what it computes and for each of its streams, one for each
// job, flow of the traffic and agent beside them, an arrow for each message, and counters of the links used most, of queues, windows and
// aggregators.
std::string trace_events(const Timeline& timeline, std::size_t row_number, const std::string& row_label);

}  // namespace weft
