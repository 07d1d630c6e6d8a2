// References that are measured backward passes: how they are judged, and fitted again.
#pragma once

#include "validation/layers/device_fit.hpp"
#include "validation/references.hpp"

#include <iosfwd>

namespace weft {

// Those of the reference's "layers", what it holds out marked.
std::vector<MeasuredBackward> passes_of(const Reference& reference);

// The device of the reference's profile.
DeviceProfile device_of(const Reference& reference);

// Writes the reference's profile: its start, with what is fitted.
void refit_device(const Reference& reference, std::ostream& out);

}  // namespace weft
