// What a measurement measured, as the simulator is asked for it.
#pragma once

#include "sim/scenario/scenario.hpp"
#include "validation/measurements/measurement.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace weft {

// The window of osu_bw and osu_bibw: so many messages are on their way before anybody waits.
constexpr int bandwidth_window = 64;

// What a measurement measured, in our words.
struct MeasuredSetup {
  std::string collective;  // of a measurement: also "latency", "bandwidth" and "bidirectional_bandwidth"
  AlgorithmChoice algorithm;
  int ranks = 0;
  Bytes size;
  std::optional<NetworkKind> network = {};  // instead of the scenario's
  // So many servers, and ranks on the first GPUs of each, where the scenario places ranks linearly. 0: ranks as it places them.
  int nodes = 0, of_each_node = 0;
  int from = -1, to = -1;         // endpoints of a message between two; -1: the first two ranks
  int window = bandwidth_window;  // of bandwidths: how many of these are on their way at once, in each direction that is measured
  int back_to_back = 1;           // calls without a barrier between them; the time is their mean, and that of all ranks
  bool of_rank_0 = false;         // or of rank 0 alone, the root
  bool mean_of_ranks = false;     // the time is the mean of what each rank took, not what all took
  int gpus_of_a_process = 1;      // whose kernels are launched one after the other
};

}  // namespace weft
