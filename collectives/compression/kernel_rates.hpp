// How long a rank takes for the local part of a plan: what a simulation of compressed training adds to the exchanges.
#pragma once

#include "collectives/compression/plan.hpp"
#include "kernels/base/units.hpp"

#include <array>
#include <string>

namespace weft {

struct KernelRates {
  std::string name;
  std::string source;
  SimTime launch;                                    // of every kernel
  std::array<double, kernel_count> work_per_second;  // of each kernel's work; 0: it takes no time

  SimTime time(const LocalWork&) const;
  // Of all local work on the way of the slowest rank, the root, one after the other; a merge for each level of its tree.
  SimTime time(const CompressionPlan&) const;
};

// As fast as a GPU's memory moves what the kernels of kernels/cuda move at least for a unit of work: what runs through is read and
// written once, what is at a random place moves a sector of 32 bytes (CUDA C++ Programming Guide). A lower bound of their times.
KernelRates rates_of_memory(std::string name, double bytes_per_second, SimTime launch);

// One core of the machine that the kernels were measured on (kernels_benchmark, kernels/README.md).
const KernelRates& cpu_core_rates();

}  // namespace weft
