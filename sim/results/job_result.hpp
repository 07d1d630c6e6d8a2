// Results of each job, and of the traffic beside them, where several share the network.
#pragma once

#include "collectives/schedule/schedule.hpp"
#include "kernels/base/units.hpp"
#include "kernels/dtype.hpp"

#include <cstdint>
#include <string>

namespace weft {

struct JobResult {
  std::string name = {};
  std::string algorithm = {};  // label() of the choice
  Collective collective = Collective::allreduce;
  int ranks = 0;
  Bytes size = {};
  DType dtype = DType::float32;
  SimTime start = {};
  int iterations = 1;
  SimTime mean = {}, least = {}, most = {};  // time of an iteration
  SimTime alone = {};                        // mean time of one where nobody else uses the fabric
  Bytes wire_bytes_per_rank = {};            // in one iteration
  std::int64_t messages = 0;                 // in one iteration
  int steps = 0, max_flows_per_link = 0;
  double slowdown() const { return alone.ps > 0 ? static_cast<double>(mean.ps) / static_cast<double>(alone.ps) : 1.0; }
  friend bool operator==(const JobResult&, const JobResult&) = default;
};

// Of the flows of one entry of the traffic that ended.
struct TrafficResult {
  std::int64_t streams = 0;  // pairs of sender and receiver
  std::int64_t count = 0;
  Bytes bytes = {};
  SimTime busy = {};  // their durations, summed
  double GBps() const { return busy.ps > 0 ? static_cast<double>(bytes.count) * 1000.0 / static_cast<double>(busy.ps) : 0.0; }
  friend bool operator==(const TrafficResult&, const TrafficResult&) = default;
};

}  // namespace weft
