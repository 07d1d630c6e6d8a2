#include "collectives/compression/kernel_rates.hpp"

#include "collectives/algorithms/fold.hpp"

#include <cmath>

namespace weft {

SimTime KernelRates::time(const LocalWork& work) const {
  const double rate = work_per_second.at(static_cast<std::size_t>(work.kernel));
  const double ps = rate > 0 ? static_cast<double>(work.work) / rate * 1e12 : 0;
  return launch + SimTime{std::llround(ps)};
}

SimTime KernelRates::time(const CompressionPlan& plan) const {
  SimTime sum;
  for (const Phase& phase : plan.phases) {
    if (const auto* work = std::get_if<LocalWork>(&phase)) sum += time(*work);
    if (const auto* exchange = std::get_if<Exchange>(&phase); exchange != nullptr && exchange->merges)
      sum += ceil_log2(plan.ranks) * time(exchange->merge());
  }
  return sum;
}

const KernelRates& cpu_core_rates() {
  static const KernelRates rates = {.name = "cpu_core",
                                    .source = "kernels_benchmark, 64 KiB to 64 MiB of float32, one core of an AMD EPYC",
                                    .launch = {},
                                    .work_per_second = {2e9, 1e9, 2e8, 2e9, 2e8, 5e8, 1e8, 3e8, 1e9, 5e7}};
  return rates;
}

}  // namespace weft
