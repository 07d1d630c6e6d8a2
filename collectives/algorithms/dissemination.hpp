// A barrier in a logarithm of steps without any rank in the middle.
#pragma once

#include "collectives/schedule/cost.hpp"
#include "collectives/schedule/schedule.hpp"

namespace weft {

// Dissemination barrier (Hensgen, Finkel & Manber 1988): at step k rank r tells rank r + 2^k what it has heard. Any n >= 1.
// With L = ceil(log2 n): steps L; nL messages; each rank sends L times, no bytes.
Schedule dissemination_barrier(int n);
Cost dissemination_barrier_cost(int n);

}  // namespace weft
