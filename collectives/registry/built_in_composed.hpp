// Algorithms that are made of others: two_level, of one in groups and one among their leaders, and mpi, whatever a library chooses.
#pragma once

#include "collectives/registry/registry.hpp"

namespace weft {

Algorithm two_level_algorithm(Collective collective);
Algorithm mpi_algorithm(Collective collective);

}  // namespace weft
