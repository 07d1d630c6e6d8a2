// Any of the fabrics that can be described.
#pragma once

#include "models/fabric/bigraph.hpp"
#include "models/fabric/dragonfly.hpp"
#include "models/fabric/fat_tree.hpp"
#include "models/fabric/graph_fabric.hpp"
#include "models/fabric/simgrid_fabric.hpp"
#include "models/fabric/star.hpp"
#include "models/fabric/torus.hpp"

#include <memory>
#include <string_view>
#include <variant>
#include <vector>

namespace weft {

using FabricSpec = std::variant<BiGraph, FatTree, Star, Torus, Dragonfly, GraphFabric, SimgridFabric>;

std::string_view type_name(const FabricSpec&);  // "bigraph", as scenarios write it

// Whether messages find their paths by a rule of its own, as dimension by dimension, and may not take any shortest one.
bool has_rules_for_paths(const FabricSpec&);

// What keeps a fabric from being built, every problem at its place in the spec ("/nodes_per_switch"; "" is the whole).
std::vector<Problem> problems(const FabricSpec&);

// Throws InputError with all problems: "bigraph: nodes_per_switch must be at most ...".
std::unique_ptr<Fabric> build(const FabricSpec&);

std::int64_t endpoints(const FabricSpec&);  // without building it

// The rate of the endpoint with the slowest connection to the fabric.
BitsPerSecond slowest_endpoint(const FabricSpec&);

}  // namespace weft
