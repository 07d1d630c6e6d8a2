// The graph of a fabric, for those who walk over it: by itself, as Boost's headers take longer to compile than most of what includes
// a fabric.
#pragma once

#include "models/fabric/fabric.hpp"

#include <boost/graph/adjacency_list.hpp>

namespace weft {

// Vertices are devices by NodeId.
struct Graph : boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, Device, Link> {};

}  // namespace weft
