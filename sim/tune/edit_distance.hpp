// How alike two graphs are: edit distance with cost 1 for each node or edge inserted or removed and each label changed.
#pragma once

#include "models/fabric/fabric.hpp"
#include "models/training/model.hpp"

#include <string>
#include <utility>
#include <vector>

namespace weft {

struct LabelledGraph {
  std::vector<std::string> labels;         // of nodes
  std::vector<std::pair<int, int>> edges;  // directed
  friend bool operator==(const LabelledGraph&, const LabelledGraph&) = default;
};

// Layers in a path, labelled by kind and magnitude of parameters; devices and links, labelled by kind and rates of their links.
LabelledGraph graph_of(const Model& model);
LabelledGraph graph_of(const Fabric& fabric);

// Paths: the edit distance of their sequences of labels, exact. Up to 200 nodes: the cost of the edit path that an optimal
// assignment of nodes with their neighbourhoods gives (Riesen & Bunke 2009), an upper bound. Larger: how much the multisets of
// nodes with their neighbours' labels differ, and the numbers of edges; equal for equal graphs.
double edit_distance(const LabelledGraph& a, const LabelledGraph& b);
// As a share of what removing all of one and inserting all of the other would cost: 0 equal, 1 nothing in common.
double edit_difference(const LabelledGraph& a, const LabelledGraph& b);

}  // namespace weft
