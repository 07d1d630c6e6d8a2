// What a measured algorithm is called.
#pragma once

#include "collectives/registry/registry.hpp"

#include <string>

namespace weft {

// "ring(channels=2,pieces=16)": with those of the settings that the algorithm takes and that it does not have by itself, so that whoever
// simulates it does so with the same.
std::string measured_label(Collective collective, const std::string& algorithm, const AlgorithmSettings& settings);

}  // namespace weft
