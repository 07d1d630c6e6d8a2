// Several measurements of the same thing as one.
#pragma once

#include "validation/fit/fit.hpp"

#include <span>

namespace weft {

// Their mean, with its standard deviation. Of five runs or more those are left out that took twice as long as the median one or half as
// long, unless they are more than one in four. Changes the order of the runs, of which there is at least one.
FitPoint mean_of(std::span<FitPoint> runs);

}  // namespace weft
