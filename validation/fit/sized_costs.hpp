// Costs by size (models/cost_by_size.hpp) from what a fit leaves of the measurements.
#pragma once

#include "models/cost_by_size.hpp"
#include "validation/fit/objective.hpp"

#include <vector>

namespace weft {

// What a call was measured to cost over what was simulated.
struct LeftOver {
  CostAtSize call;       // its factor is not used
  double log_ratio = 0;  // log(measured / simulated)
};

// The left-overs as factors, each series (collective, algorithm, ranks) smoothed over its sizes (Gaussian process with an exponential
// covariance). How much is chosen by leaving each size out in turn and predicting it from the others, with no factors at all among the
// choices: then there is nothing in the data but noise, and the result is empty. Where the factors of the
// next number of ranks predict the least and the largest number of ranks worse than no factors do, they fade out beyond those: to 1 at
// half and at twice as many ranks.
std::vector<CostAtSize> smoothed(const std::vector<LeftOver>& left_over);

// Those of these values on the objective's points, so that the simulation comes out as smoothed.
std::vector<CostAtSize> sized_costs(Objective& objective, const std::vector<double>& values);

}  // namespace weft
