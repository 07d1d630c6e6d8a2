// Traffic of others on the fabric: flows that repeat while jobs run.
#pragma once

#include "kernels/base/error.hpp"
#include "kernels/base/units.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace weft {

enum class TrafficPattern {
  permutation,  // each endpoint sends to one other and receives from one other, at random
  incast,       // all of them send to one
  pairs,        // as given
};

struct TrafficSpec {
  TrafficPattern pattern = TrafficPattern::permutation;
  std::vector<int> endpoints = {};           // that send; empty: all
  int to = 0;                                // incast
  std::vector<std::vector<int>> pairs = {};  // pairs: sender and receiver
  std::uint64_t seed = 1;                    // permutation
  Bytes size = {};                           // of each flow
  SimTime start = {};
  SimTime stop = SimTime::never();  // no flow begins from then on
  SimTime period = {};              // from start to start of a pair's flows; one that takes longer delays the next. 0: back to back
  SimTime on = {}, off = {};        // no flow begins for `off` after each `on`, counted from start. on = 0: always on
  friend bool operator==(const TrafficSpec&, const TrafficSpec&) = default;
};

// Every problem on a fabric of so many endpoints, with its place in the traffic ("/pairs/3").
std::vector<Problem> problems(const TrafficSpec& traffic, std::int64_t endpoints);

// Sender and receiver of each flow; only for what has no problems.
std::vector<std::pair<int, int>> flows_of(const TrafficSpec& traffic, int endpoints);

}  // namespace weft
