// What a collective must leave behind, computed directly: data that every rank can work out for itself, and a comparison
// with what a run left. Integers must be equal. Floating point may differ by
//   sum        workers * epsilon * the sum of magnitudes    prod   workers * epsilon * |product|
//   avg        the sum's bound / workers, + epsilon * |avg|   min, max, and whatever is only copied: nothing
//   avg of values that are scaled first: (workers + 1) / workers * epsilon * the sum of magnitudes, + epsilon * |avg|, because each
//              value is rounded too; nothing of that where 1 / workers is a power of two
// with epsilon the distance from 1 to the next value of the type.
#pragma once

#include "collectives/executors/blocking.hpp"
#include "collectives/schedule/schedule.hpp"
#include "kernels/dtype.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace weft {

enum class Values {
  whole,  // floating point: small whole numbers. Sums are exact in any order, so nothing hides in the bound
  real,   // floating point: all bits in use
};

// The most ranks whose sum of `whole` values is exact in this type.
int max_ranks_summed_exactly(DType);

struct TestData {
  Values values = Values::whole;
  std::uint64_t seed = 1;
  bool scaled_first = false;  // avg: each value is multiplied by 1 / workers before the sum, as ncclAvg does
};

// Fills the buffer with what `rank` holds before the collective. What it does not hold is filled with a pattern that no
// right result contains.
void fill(const Schedule&, ReduceOp, TestData, Rank rank, const Buffer&);

struct RankResult {
  Rank rank;
  Buffer buffer;
};

struct Verdict {
  std::int64_t wrong = 0;   // elements, over all ranks given
  std::string first_wrong;  // "rank 3, element 17: is 4.5, should be 5"
};

// Compares what the collective left with what it should, for the ranks given (a process knows only its own).
Verdict verify(const Schedule&, ReduceOp, TestData, std::span<const RankResult>);

}  // namespace weft
