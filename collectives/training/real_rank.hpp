// One rank of a training run for real: compute is time that passes, gradients are real memory, and an engine decides when which of
// them are reduced, over real streams, each a thread with connections of its own, compressed by real kernels if that is asked for, or by
// parameter servers. The same engines run in the simulator.
#pragma once

#include "collectives/compression/plan.hpp"
#include "collectives/engines/engines.hpp"
#include "collectives/executors/blocking.hpp"
#include "collectives/training/control_links.hpp"

#include <memory>
#include <optional>

namespace weft {

// What a rank computes in a step.
struct StepWork {
  struct Backward {
    SimTime duration;
    std::vector<int> gradients = {};  // ready when it ends
  };
  SimTime forward, optimizer;
  std::vector<Backward> backward;
  std::vector<Bytes> gradients;                         // float32
  std::function<double(Rank, int step)> slowdown = {};  // of what a rank computes in a step of a choice, from 0; empty: none

  SimTime compute() const;
};

// How gradients are reduced.
struct ReductionChoice {
  EngineSettings engine = {};
  std::shared_ptr<const Schedule> schedule = {};  // an all-reduce of all ranks, without extra servers
  struct Compressed {
    CompressionSettings settings;
    Request allreduce;  // of what every rank gets the sum of
  };
  std::optional<Compressed> compression = {};
};
int streams_of(const EngineSettings&);

// What a rank must have for all choices of a run.
struct RankShape {
  int streams = 1;
  bool pushes = false;  // to parameter servers
};

struct StepMeasurement {
  double seconds = 0;           // of the slowest rank
  double computed_s = 0;        // of this rank
  double kernels_s = 0;         // of this rank, in kernels of compression
  int orders = 0;               // all-reduces, and partitions that were pushed
  std::int64_t sent_bytes = 0;  // by this rank, less control messages
  std::int64_t messages = 0;    // of all ranks
};

class RealRank {
 public:
  // Channels that a run needs.
  static int channels(const RankLinks& links, const RankShape& shape);

  RealRank(const RankLinks& links, StepWork work, const RankShape& shape);
  // Ends the run on all ranks unless end() was called.
  ~RealRank();
  RealRank(const RealRank&) = delete;
  RealRank& operator=(const RealRank&) = delete;

  // From the next step on, the same on all ranks.
  void use(const ReductionChoice& choice);
  // One step, together with all ranks; every gradient that is not compressed is compared with the sum that it must be. Throws RunError
  // with the rank, the gradient and the element that are wrong, or what is waited for where nothing moves.
  StepMeasurement step();
  // All ranks, after steps that compress: what was sent and what all have kept must add up to all their gradients. Throws RunError.
  void check_nothing_lost();
  // All ranks have done what they wanted.
  void end();

 private:
  class Run;
  std::unique_ptr<Run> run_;
};

// A parameter server on a host of its own, until all workers have ended. Throws RunError where the run is ended before.
void serve(const RankLinks& links, const RankShape& shape);

}  // namespace weft
