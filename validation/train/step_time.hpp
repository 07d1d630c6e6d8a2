// How long a step of training takes on a simulated cluster.
#pragma once

#include "collectives/compression/kernel_rates.hpp"
#include "collectives/compression/plan.hpp"
#include "sim/scenario/scenario.hpp"

namespace weft::train {

struct StepTime {
  SimTime gradient = {};   // forward and backward, as given
  SimTime kernels = {};    // of the compression, one after the other
  SimTime exchanges = {};  // on the scenario's network, one after the other: each begins when all ranks have ended the one before
  SimTime total() const { return gradient + kernels + exchanges; }
};

// On the scenario's fabric, placement, hardware and network; its workload is left alone. Throws InputError where the fabric has too
// few endpoints.
StepTime simulated_step(const CompressionPlan&, SimTime gradient, const KernelRates&, const Scenario&);

}  // namespace weft::train
