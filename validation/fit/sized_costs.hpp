// Costs by size (models/cost_by_size.hpp) from what a fit leaves of the measurements.
#pragma once

#include "validation/fit/left_over.hpp"

#include <vector>

namespace weft {

// What is left over is of a message as well as of a call, and a measurement, made again, differs by about so much (standard deviation of
// its logarithm): benchmarks of networks repeat within a few percent.
inline constexpr double repeatability = 0.02;

// Factors go no further.
inline constexpr double least_factor = 0.02, most_factor = 50;

// What is left over at one size says of another, so many octaves apart.
double covariance_of_sizes(double octaves);
// What is left over of one algorithm says of another that the library chooses for other sizes of the same series, as a part of that.
inline constexpr double common_to_algorithms = 0.5;
// The variance of what is left over, besides that of measuring; 0: it is nothing but that.
double variance_left_over(const std::vector<double>& log_ratios);

// The left-overs as factors, by collective, algorithm (of NCCL the pattern and the protocol), ranks and servers, of two sizes and more,
// smoothed over sizes (Gaussian process with the covariances above and the repeatability as its noise), without those that stand alone:
// nearly as they are where they are large, less where they are no more than measuring again would make of them. Where a library chose
// algorithms by size, each of these has factors at all sizes of the series, and so has every protocol of a pattern of NCCL's: what is
// chosen between them is not known for sure. Where the factors of the next number of ranks predict the least and the largest number of
// ranks worse than no factors do, they fade out beyond those: to 1 at half and at twice as many ranks. Where one number of ranks was
// measured, nothing says whether they hold at others, and they fade out to 1 at a sixteenth and at sixteen times as many, but for those
// that would make calls faster on more ranks if they did. Whatever they are at the ranks that were measured, beyond these they are at
// most e and at least 1/e; and those above e or below 1/e at one number of ranks alone are as at the next already at half and at twice
// as many.
std::vector<CostAtSize> smoothed(const std::vector<LeftOver>& left_over);

// Whether the factor went as far as factors may.
bool is_at_bound(const CostAtSize& cost);

// Those of these values on the objective's points, so that the simulation comes out as smoothed: first, `by_message`, of messages, of what
// these leave then of calls. Of calls of one process for several GPUs that took no longer than its launches (min_launched_us) only that
// they take no more is known. Between the sizes of a series times stay between those of its neighbours, and so do times over sizes where
// these are about the same, at twice the largest size too where NCCL is expected to change there.
std::vector<CostAtSize> sized_costs(Objective& objective, const std::vector<double>& values, bool by_message = true);

}  // namespace weft
