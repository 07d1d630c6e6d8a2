// Proofs before a run: a schedule does what its collective promises, whatever the data and however fast each rank is.
#pragma once

#include "collectives/price.hpp"
#include "collectives/schedule.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

// What is wrong with the schedule; empty when it is right: every rank ends with what the table in schedule.hpp says, each
// share counted exactly once; indices are in range; nobody sends or adds to what it never held; no chunk is overwritten in a
// step that has written it before; and channels touch no chunk of a rank in common, so that any interleaving gives the same.
//
// Each share is followed as a pair of random 64-bit numbers that are added where data would be, in one walk over the schedule
// (a wrong one would pass with a probability of about 2^-120). If a sum is wrong, its chunk is walked again with exact sets to say where:
//   step 2: 1->2 adds rank 0's share of chunk 0 twice
//   after the last step rank 3's chunk 5 lacks rank 7
// Throws RunError where there are more chunks than can be followed: whether it is right is then not known.
std::vector<std::string> verify(const Schedule& schedule);

// What the schedule moves between different ranks, counted.
struct Traffic {
  Price counted;                       // to be equal to the algorithm's price
  std::int64_t max_elements_sent = 0;  // by the rank that sends most, of a message of so many elements
};
Traffic traffic(const Schedule& schedule, std::int64_t elements = 0);

}  // namespace weft
