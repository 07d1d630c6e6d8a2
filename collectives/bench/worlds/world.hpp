// The ranks of a benchmark, as far as this process runs them.
#pragma once

#include "collectives/executors/blocking.hpp"
#include "collectives/executors/transport.hpp"
#include "collectives/schedule/schedule.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace weft::bench {

// What carries a benchmark's messages.
class Medium {
 public:
  virtual ~Medium() = default;
  virtual int ranks() const = 0;          // and extra servers
  virtual int gpus() const { return 0; }  // that the ranks run on
  // What belongs beside every result, as the device; "" where there is nothing to say.
  virtual std::string about() const { return {}; }

  // The collectives that the medium's library has itself, as a yardstick: its name.
  virtual std::string_view library() const { return {}; }
  // Whether an algorithm of this name is the medium's, not a schedule: the library's, or one of its own; and what that can.
  virtual bool has_own(std::string_view algorithm) const { return !algorithm.empty() && algorithm == library(); }
  virtual bool runs_own(std::string_view algorithm, Collective, DType, ReduceOp) const { return static_cast<void>(algorithm), false; }
};

class StreamWorld;

class World : public Medium {
 public:
  virtual std::vector<Rank> here() const = 0;  // those this process runs
  virtual Transport& at(Rank, int channel) = 0;
  virtual void fail(const std::string& reason) = 0;  // ends the run on all ranks
  // All there is to say about why the run ended; "" where what was thrown says it.
  virtual std::string report() const { return {}; }
  virtual bool one_clock() const { return false; }  // all ranks read the same clock
  virtual void run_library(const Schedule&, ReduceOp, Rank, const Buffer&) {}
  // Throws RunError where another rank has ended the run, or is lost: for who waits for something else.
  virtual void look() {}
  // For who waits for something else than messages: tells the other ranks what for, "" for no longer; and what they have told.
  virtual void tell_waiting(const std::string&) {}
  virtual std::string others() { return {}; }
  // Whether send() and receive() take addresses on a device.
  virtual bool takes_device_memory() const { return false; }
  // What runs an algorithm where the data of the one rank here are on a device; null where the host does, whatever the algorithm.
  virtual StreamWorld* device(std::string_view algorithm) { return static_cast<void>(algorithm), nullptr; }
};

}  // namespace weft::bench
