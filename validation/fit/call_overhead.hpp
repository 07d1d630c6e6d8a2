// What a measured call takes apart from its messages.
#pragma once

#include "models/hardware.hpp"
#include "validation/fit/fit.hpp"
#include "validation/fit/measured_setup.hpp"

#include <vector>

namespace weft {

// Whether calls back to back run into one another: a root goes on to the next call while the others are in this one. All other collectives
// end at about the same time on every rank, and so does a message between two.
bool overlaps(const MeasuredSetup& setup);

// Microseconds before its first message.
double before_messages_us(const MeasuredSetup& setup, const HardwareProfile& hardware, const Regime& regime);

// The least that calls of a process of several GPUs take, which follow one another: its launches. Microseconds.
double min_launched_us(const MeasuredSetup& setup, const HardwareProfile& hardware);

// The longest that a launch can take, as no call was faster than its launches. Microseconds; infinity where no process had several GPUs.
double max_launch_us(const std::vector<const FitPoint*>& points);

}  // namespace weft
