// What measurements say of one another without any model: beside their errors those of a simulation are read.
#pragma once

#include "validation/fit/fit.hpp"

#include <optional>
#include <vector>

namespace weft {

// By point, the relative error of log-log interpolation between the fitted points of its series; nothing of fitted points, and of those
// that do not lie between two. No model of sizes alone is expected to do better.
std::vector<std::optional<double>> interpolation_errors(const std::vector<FitPoint>& points);

// By point, the relative error of the bus bandwidth (nccl-tests, doc/PERFORMANCE.md) of the same call at the nearest other number of ranks
// that was fitted, taken for that of the point: what an engineer expects who has no model. Nothing of fitted points, and where no such call
// of this size, or of a smaller and a larger one, was fitted.
std::vector<std::optional<double>> kept_bandwidth_errors(const std::vector<FitPoint>& points);

// Of the points that have one.
ErrorSummary summarise(const std::vector<std::optional<double>>& by_point);

}  // namespace weft
