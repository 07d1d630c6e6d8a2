// One rank of a training run for real: compute is time that passes, gradients are real memory, and an engine decides when which of
// them are reduced over real streams, each a thread with connections of its own. The same engines run in the simulator.
#pragma once

#include "collectives/engines/engines.hpp"
#include "collectives/executors/blocking.hpp"
#include "collectives/training/control_links.hpp"

#include <memory>

namespace weft {

// What a rank computes in a step.
struct StepWork {
  struct Backward {
    SimTime duration;
    std::vector<int> gradients = {};  // ready when it ends
  };
  SimTime forward, optimizer;
  std::vector<Backward> backward;
  std::vector<Bytes> gradients;  // float32

  SimTime compute() const;
};

// How gradients are reduced.
struct ReductionChoice {
  EngineSettings engine = {};
  std::shared_ptr<const Schedule> schedule = {};  // an all-reduce of all ranks, without extra servers
};
int streams_of(const EngineSettings&);

struct StepMeasurement {
  double seconds = 0;           // of the slowest rank
  double computed_s = 0;        // of this rank
  int orders = 0;               // all-reduces
  std::int64_t sent_bytes = 0;  // by this rank, less control messages
  std::int64_t messages = 0;    // of all ranks
};

class RealRank {
 public:
  // Channels that a run with so many streams needs.
  static int channels(int ranks, int streams) { return ranks + streams; }

  RealRank(const RankLinks& links, StepWork work, int streams, int ranks_per_server = 1);
  // Ends the run on all ranks unless end() was called.
  ~RealRank();
  RealRank(const RealRank&) = delete;
  RealRank& operator=(const RealRank&) = delete;

  // From the next step on, the same on all ranks.
  void use(const ReductionChoice& choice);
  // One step, together with all ranks; every gradient is compared with the sum that it must be. Throws RunError with the rank, the
  // gradient and the element that are wrong, or what is waited for where nothing moves.
  StepMeasurement step();
  // All ranks have done what they wanted.
  void end();

 private:
  class Run;
  std::unique_ptr<Run> run_;
};

}  // namespace weft
