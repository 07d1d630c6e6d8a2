// Which of our algorithms a measurement is of.
#pragma once

#include "validation/measurements/measurement.hpp"
#include "validation/measurements/renames.hpp"

#include <optional>
#include <vector>

namespace weft {

// What its name means: what `renames` says, the name itself, with settings or without ("nccl(algorithm=tree)"), a synonym ("rabenseifner",
// "tree"), or either with the library behind it ("ring_ompi"). Its settings are those of `otherwise` where that has one of the name and
// neither the renaming nor the name gives any. No name: the first of `otherwise`. Nothing: we do not have it.
std::optional<AlgorithmChoice> algorithm_measured(const Measurement& measurement, const Renames& renames,
                                                  const std::vector<AlgorithmChoice>& otherwise);

}  // namespace weft
