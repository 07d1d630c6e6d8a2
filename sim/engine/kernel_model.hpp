// Our network models inside SimGrid's engine: each is a simgrid::kernel::resource::Model added with Engine::add_model.
#pragma once

#include "kernels/base/units.hpp"

namespace weft {

// What a network model and its executor look like to the engine: a sequence of dates at which something happens.
class EventSource {
 public:
  virtual ~EventSource() = default;
  virtual SimTime next_date() const = 0;  // SimTime::never() when nothing is pending
  virtual void advance() = 0;             // handles everything that happens at next_date()
};

// Runs the engine until `source` has nothing pending and every actor has ended. SimGrid allows one engine per process
// and keeps it to the end of it: call once per process, or through in_child().
void run_in_engine(EventSource& source);

}  // namespace weft
