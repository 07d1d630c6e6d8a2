// Any of the fabrics that can be described.
#pragma once

#include "models/bigraph.hpp"
#include "models/dragonfly.hpp"
#include "models/fat_tree.hpp"
#include "models/graph_fabric.hpp"
#include "models/star.hpp"
#include "models/torus.hpp"

#include <memory>
#include <string_view>
#include <variant>
#include <vector>

namespace weft {

using FabricSpec = std::variant<BiGraph, FatTree, Star, Torus, Dragonfly, GraphFabric>;

std::string_view type_name(const FabricSpec&);  // "bigraph", as scenarios write it

// What keeps a fabric from being built, every problem at its place in the spec ("/nodes_per_switch"; "" is the whole).
std::vector<Problem> problems(const FabricSpec&);

// Throws InputError with all problems: "bigraph: nodes_per_switch must be at most ...".
std::unique_ptr<Fabric> build(const FabricSpec&);

std::int64_t endpoints(const FabricSpec&);  // without building it

}  // namespace weft
