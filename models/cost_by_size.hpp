// What calls cost over what a profile's other values say, by size: what is left of measurements when the profile is fitted to them.
#pragma once

#include "kernels/base/units.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace weft {

// All times of a call are multiplied by the factor.
struct CostAtSize {
  std::string collective, algorithm;  // "nccl_ring", "nccl_tree", "nccl_nvls", "nccl_nvls_tree": by the pattern that NCCL takes
  int ranks = 2;
  Bytes size;
  double factor = 1;
  friend bool operator==(const CostAtSize&, const CostAtSize&) = default;
};

struct SizedCall {
  std::string_view collective, algorithm;
  int ranks = 2;
  Bytes size;
};

// Between sizes, and between numbers of ranks, along a straight line of logarithms; beyond them as at the last. 1 where nothing is
// known of the collective and its algorithm.
double cost_factor(const std::vector<CostAtSize>& known, const SizedCall& call);

}  // namespace weft
