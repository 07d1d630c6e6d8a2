// A fitted profile as the file that scenarios name: every value with its source, and how it was come by.
#pragma once

#include "validation/fit/fit.hpp"

#include <set>
#include <string>
#include <vector>

namespace weft {

// By which command the same file is made again, and of what.
struct ProfileOrigin {
  std::string command, what;
};

std::string profile_text(const OpenScenario& open, const std::vector<FitPoint>& points, const FitResult& result,
                         const ProfileOrigin& origin);

// As a profile has them.
Json errors_of(const ErrorSummary&);

// The collectives, algorithms, numbers of ranks and servers, and sizes of the points, and the clusters on which they were simulated: what a
// profile fitted to them is calibrated for. `patterns`: that NCCL's calls among them ran.
Json valid_range(const std::vector<FitPoint>& points, const std::vector<const Scenario*>& clusters,
                 const std::set<NcclAlgorithm>& patterns);

}  // namespace weft
