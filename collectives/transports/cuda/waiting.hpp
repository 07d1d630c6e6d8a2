// The host waits for a device, and hears meanwhile whether it waits in vain.
#pragma once

#include "collectives/transports/cuda/handles.hpp"
#include "collectives/transports/cuda/messenger.hpp"

#include <chrono>
#include <string>

namespace weft::cuda {

struct Waiting {
  Lookout* lookout = nullptr;  // who is asked and told
  std::chrono::milliseconds patience{30'000};
};

// Returns when the event has come. `work` is what the devices do until then, as others are told: "run 17". Throws StuckError when patience
// ends, and RunError for what the lookout or CUDA knows.
void await(const OwnedEvent& event, const Waiting&, const std::string& work);

}  // namespace weft::cuda
