// What a rank of a training job waits for while it does not compute.
#pragma once

#include "kernels/base/units.hpp"

namespace weft {

struct Waits {
  SimTime communication = {};  // some all-reduce of this rank runs, and all ranks take part in it
  SimTime stragglers = {};     // its all-reduces have begun, but each lacks some other rank
  SimTime negotiation = {};    // nothing is being reduced: the engine has not said what to
  SimTime kernels = {};        // its GPU runs kernels of the compression, after which it computes on
  SimTime sum() const { return communication + stragglers + negotiation + kernels; }
  Waits& operator+=(const Waits& other) {
    communication += other.communication, stragglers += other.stragglers, negotiation += other.negotiation, kernels += other.kernels;
    return *this;
  }
  friend bool operator==(const Waits&, const Waits&) = default;
};

// Follows one rank. Each call says what is so from `now` on.
class WaitingRank {
 public:
  void waits(bool whether, SimTime now) { account(now), waiting_ = whether; }
  void all_reduce_began(SimTime now) { account(now), ++running_; }
  void joined_by_all(SimTime now) { account(now), ++whole_; }  // one of its all-reduces that runs
  void all_reduce_ended(SimTime now) { account(now), --running_, --whole_; }
  void held_up_by_kernels(SimTime duration) { total_.kernels += duration; }  // while it would compute
  const Waits& total() const { return total_; }

 private:
  void account(SimTime now) {
    if (waiting_) (whole_ > 0 ? total_.communication : running_ > 0 ? total_.stragglers : total_.negotiation) += now - since_;
    since_ = now;
  }

  Waits total_;
  SimTime since_ = {};
  int running_ = 0, whole_ = 0;
  bool waiting_ = false;
};

}  // namespace weft
