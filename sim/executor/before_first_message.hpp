// What a call does before its first message: the overhead of the call, copies of its message, and the pages of a buffer that it allocates.
#pragma once

#include "collectives/schedule/merge_steps.hpp"
#include "models/hardware.hpp"

#include <span>
#include <vector>

namespace weft {

// The most that arrives at a rank in one step to be added to what it has, of a message of this size: the buffer that an
// implementation needs for it. A ring of n ranks needs one of S / n, halving-doubling S / 2, recursive doubling S.
// `stands_for`: by channel and step, of how many it is made (merge_steps.hpp); empty: of one.
Bytes largest_arrival_to_reduce(const Schedule& schedule, Bytes message, std::span<const std::vector<StandsFor>> stands_for = {});

SimTime before_first_message(const HardwareProfile& hardware, const Schedule& schedule, Bytes message,
                             std::span<const std::vector<StandsFor>> stands_for = {});

}  // namespace weft
