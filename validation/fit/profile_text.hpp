// A fitted profile as the file that scenarios name: every value with its source, and how it was come by.
#pragma once

#include "validation/fit/calibrate.hpp"
#include "validation/fit/fit.hpp"

namespace weft {

std::string profile_text(const OpenScenario& open, const std::vector<FitPoint>& points, const FitResult& result,
                         const CalibrateArguments& arguments);

}  // namespace weft
