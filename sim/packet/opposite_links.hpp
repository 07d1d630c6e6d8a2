// The other direction of each cable.
#pragma once

#include "models/fabric/fabric.hpp"

#include <vector>

namespace weft {

// By link: the link that leads back, the k-th of several parallel ones for the k-th; -1 where there is none.
std::vector<LinkId> opposite_links(const Fabric& fabric);

}  // namespace weft
