// Proofs before a run: a schedule does what its collective promises, whatever the data and however fast each rank is.
#pragma once

#include "collectives/schedule/cost.hpp"
#include "collectives/schedule/schedule.hpp"
#include "kernels/base/error.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

// What is wrong with the schedule; empty when it is right: every rank ends with what the table in schedule.hpp says, each
// share counted exactly once; indices are in range; nobody sends or adds to what it never held; no chunk is overwritten in a
// step that has written it before; and channels touch no chunk of a rank in common, so that any interleaving gives the same.
//
// Each share is followed as a pair of random 64-bit numbers that are added where data would be (a wrong one would pass with a
// probability of about 2^-90). Neighbouring chunks that hold shares of the same ranks are followed as one, and of chunks that a
// declared symmetry turns into one another only one is followed (symmetry.hpp); an all-to-all of one hop needs no walk (one_hop.hpp). Where
// that is not enough to keep a walk in memory, chunks are followed some at a time. If a sum is wrong, its chunk is walked again with exact
// sets to say where:
//   step 2: 1->2 adds rank 0's share of chunk 0 twice
//   after the last step rank 3's chunk 5 lacks rank 7
//
// Throws CannotBeProved where a proof would cost more than a run: whether the schedule is right is then not known.
struct ProofLimits {
  // Ranges, of 24 bytes, that a walk may hold; more where chunks are moved to other places, as they all need one walk then.
  std::int64_t ranges = std::int64_t{1} << 22;
  std::int64_t ranges_in_one_walk = std::int64_t{1} << 27;
  int walks = 64;  // of a few ns for each transfer, where a simulation takes hundreds
};
std::vector<std::string> verify(const Schedule& schedule, const ProofLimits& limits = {});

class CannotBeProved : public RunError {
 public:
  using RunError::RunError;
};

// What the schedule moves between different ranks, counted.
struct Traffic {
  Cost counted;                        // to be equal to the algorithm's cost
  std::int64_t max_elements_sent = 0;  // by the rank that sends most, of a message of so many elements
};
Traffic traffic(const Schedule& schedule, std::int64_t elements = 0);

}  // namespace weft
