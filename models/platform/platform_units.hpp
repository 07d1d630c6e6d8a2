// Quantities as SimGrid's platforms write them: "125MBps", "1.5Gibps", "50us", "0".
#pragma once

#include "kernels/base/units.hpp"

#include <optional>
#include <string_view>

namespace weft {

// Bits or bytes a second, in powers of 1000 (k M G T P E) or 1024 (Ki Mi ...); bytes where no unit is given. Nothing where it is none, or
// not more than zero.
std::optional<BitsPerSecond> platform_bandwidth(std::string_view text);
// w d h m s ms us ns ps; seconds where no unit is given.
std::optional<SimTime> platform_latency(std::string_view text);

}  // namespace weft
