// Gradient engines: what decides, on each rank, when gradients that backward has produced are reduced, and together with which.
// An engine is a state machine over one seam, so that the same code runs in the simulator and for real.
#pragma once

#include "collectives/schedule/schedule.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/units.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace weft {

// Gradients have ids: their places in the order of registration, which is that of forward. Backward brings the last first.
struct GradientSlice {
  int gradient = 0;
  Bytes offset, size;
  friend bool operator==(const GradientSlice&, const GradientSlice&) = default;
};

// An all-reduce (sum) over all ranks, as one rank sees it. The same id means the same order on all ranks, with the same slices.
struct CollectiveOrder {
  int id = 0;
  Bytes size = {};   // of all slices
  int stream = 0;    // orders of one stream run one after another, in the order of start; all ranks start them in the same order
  int server = -1;   // when not negative: pushed to this parameter server and pulled from it, at once, on no stream, and ranks start
                     // such orders in different orders
  int priority = 0;  // lower goes first where the host can choose
  std::string algorithm = {};  // of the registry; empty: the workload's
  std::vector<GradientSlice> what = {};
  std::string label = {};
};

// The world of one rank's engine. Nothing here calls the engine back before it has returned.
class EngineHost {
 public:
  virtual ~EngineHost() = default;
  virtual SimTime now() const = 0;
  virtual void start(const CollectiveOrder& order) = 0;
  // A control message over the network, real bytes. Messages of one pair of ranks arrive once, in order.
  virtual void send(Rank to, std::vector<std::byte> message) = 0;
  virtual void set_timer(SimTime at) = 0;  // an engine has at most one pending
  // The gradient holds the sum of all ranks; the optimizer may use it.
  virtual void gradient_reduced(int gradient) = 0;
};

class GradientEngine {
 public:
  virtual ~GradientEngine() = default;
  // Before the first gradient of each backward pass; the step before must have ended here (idle).
  virtual void begin_step() = 0;
  virtual void gradient_ready(int gradient) = 0;  // each once a step
  virtual void backward_ended() = 0;              // after the last gradient
  virtual void received(Rank from, std::span<const std::byte> message) = 0;
  virtual void pushed(int order) = 0;  // to a server: this rank's values have left; before its end
  virtual void ended(int order) = 0;   // this rank's part of it
  virtual void timer() = 0;
  // All gradients of the step are reduced. What others send of the next step is kept until begin_step.
  virtual bool idle() const = 0;
  // What this rank waits for, and whom, in one line.
  virtual std::string waiting() const = 0;
};

struct EngineSetup {
  Rank rank = 0;
  int ranks = 1;
  std::vector<Bytes> gradients = {};  // size on the wire, by id: for half precision, of two bytes an element
  int machines = 1;                   // that the ranks sit on
};

}  // namespace weft
