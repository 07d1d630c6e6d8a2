// Thrown where simulated time would pass what a SimTime holds.
#pragma once

#include "kernels/base/error.hpp"

namespace weft {

class BeyondTime : public RunError {
 public:
  BeyondTime() : RunError("simulated time would pass 106 days (2^63 ps), the most that can be simulated") {}
};

}  // namespace weft
