// Before its first all-reduce every rank says what it is going to do, so that ranks with different settings are found before any
// data are mixed up.
#pragma once

#include "collectives/compression/plan.hpp"
#include "collectives/executors/transport.hpp"

namespace weft {

// An all-gather of a few numbers. Throws RunError on every rank, with the first rank that differs from rank 0 and all that differs.
void meet(const CompressionSettings&, const CompressionPlan&, Rank, Transport&);

}  // namespace weft
