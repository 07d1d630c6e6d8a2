// Which endpoint each rank sits on.
#pragma once

#include "kernels/base/error.hpp"
#include "models/fabric/fabric_spec.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

enum class PlacementPolicy {
  linear,       // rank r on endpoint r
  hdrm,         // the rank map of HDRM, for halving-doubling on a BiGraph
  random,       // on endpoints drawn without repetition
  round_robin,  // on the switches in turn, one endpoint of each; on the servers where they have several GPUs
  list,         // as given
};

struct Placement {
  PlacementPolicy policy = PlacementPolicy::linear;
  std::uint64_t seed = 1;       // random
  std::vector<int> nodes = {};  // list: the endpoint of each rank
  friend bool operator==(const Placement&, const Placement&) = default;
};

// What keeps `ranks` ranks from being placed so, at its place in the placement ("/nodes/3"; "" is the whole).
std::vector<Problem> problems(const Placement& placement, int ranks, const FabricSpec& fabric);

// The endpoint of each rank. Throws InputError with all problems.
//
// hdrm takes a power of two of ranks, on a BiGraph with a power of two of switches: all endpoints, or a smaller BiGraph
// within it (the first switches of both parts when there are fewer ranks than switches, else the first nodes of each).
std::vector<int> place(const Placement& placement, int ranks, const FabricSpec& fabric);

// The same where only `free` endpoints are left; not for hdrm. `group_of`, by endpoint: what round_robin takes in turn.
std::vector<int> place_among(const Placement& placement, int ranks, std::vector<int> free, std::span<const int> group_of);

// The switch that each endpoint has its cable to.
std::vector<int> switch_of_endpoint(const FabricSpec& fabric);

}  // namespace weft
