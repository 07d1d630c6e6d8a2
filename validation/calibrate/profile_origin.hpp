// What `weft calibrate` says in a profile of how it was made.
#pragma once

#include "validation/calibrate/calibrate.hpp"
#include "validation/fit/profile_text.hpp"

#include <vector>

namespace weft {

ProfileOrigin origin_of(const CalibrateArguments& arguments, const std::vector<FitPoint>& points);

}  // namespace weft
