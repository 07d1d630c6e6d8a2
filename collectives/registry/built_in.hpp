// The algorithms that Weft comes with, and what each asks of ranks, groups and fabrics.
#pragma once

#include "collectives/registry/registry.hpp"

#include <span>

namespace weft {

std::span<const Algorithm> built_in_algorithms();

}  // namespace weft
