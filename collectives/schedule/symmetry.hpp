// A ring is one chunk's walk, rotated: where the author of a channel's steps declares such a symmetry (Steps::declare) and
// every step has it, a proof of one chunk of each orbit is a proof of all.
#pragma once

#include "collectives/schedule/contents.hpp"
#include "collectives/schedule/schedule.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace weft {

// One chunk of each set of `chunks` that the declared symmetries of the channel turn into one another; nothing if none are
// declared or they do not hold. They hold if
//   each maps ranks and chunks one to one, and what is held before and due after to what is held and due;
//   every step, its transfers taken as moves of single chunks, is mapped to the same moves. That is seen by their sums, each
//     move standing for a random number of its ranks times one of its chunk, modulo 2^64 twice (it would miss a difference
//     with a probability of about 2^-115);
//   nothing is moved to another chunk, and no step has a copy behind an addition, whose order would count.
// Then what rank r holds of chunk c is, renamed, what r's image holds of c's image after every step.
std::optional<std::vector<int>> one_of_each_orbit(const Schedule& schedule, std::size_t channel, const ChunkSet& chunks);

}  // namespace weft
