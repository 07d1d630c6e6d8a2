// What can be judged of a scenario whose fabric cannot be built, or whose ranks do not fit it.
#pragma once

#include "sim/scenario/scenario.hpp"

#include <vector>

namespace weft {

// What is known of a fabric beside how it is wired.
struct FabricKnown {
  bool server = true;  // what a node is
  bool sharp = true;   // whether switches add for NCCL
};

// The scenario on fabrics that have little in common, each with an endpoint for every rank: what is wrong on all of them is wrong on any.
std::vector<Scenario> stand_ins(const Scenario& scenario, const FabricKnown& known);

// Whether what stands there is about a fabric's own parts, which those of others say nothing of.
bool is_of_fabric(const Problem& problem);

}  // namespace weft
