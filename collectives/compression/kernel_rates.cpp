#include "collectives/compression/kernel_rates.hpp"

#include "collectives/algorithms/fold.hpp"

#include <cmath>
#include <utility>

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

KernelRates rates_of_memory(std::string name, double bytes_per_second, SimTime launch) {
  constexpr double value = 4, index = 4, entry = 8, sector = 32;
  constexpr double passes_of_merge = 4;  // both lists added, counted, selected and written
  KernelRates out{.name = std::move(name),
                  .source = "what the kernels move at least, at the memory's bandwidth",
                  .launch = launch,
                  .work_per_second = {}};
  const auto moves = [&](Kernel kernel, double bytes) { out.work_per_second[static_cast<std::size_t>(kernel)] = bytes_per_second / bytes; };
  moves(Kernel::check_finite, value);
  moves(Kernel::accumulate, 3 * value);
  moves(Kernel::sketch_insert, 2 * sector);
  moves(Kernel::sketch_merge, 3 * value);
  moves(Kernel::sketch_estimate, sector);
  moves(Kernel::top_k, value);  // read once; what is kept is little
  moves(Kernel::sketch_remove, 2 * sector);
  moves(Kernel::gather, index + sector + value);
  moves(Kernel::apply, value);
  moves(Kernel::merge_lists, passes_of_merge * entry);
  return out;
}

const KernelRates& cpu_core_rates() {
  static const KernelRates rates = {
      .name = "cpu_core",
      .source = "one core of an AMD EPYC, 1,000,000 elements, 5 x 100,000 counters, k 10,000: medians by the kernels and phase_seconds",
      .launch = {},
      // In the order of Kernel, from check_finite to merge_lists.
      .work_per_second = {6.7e9, 4.7e9, 8.4e8, 4.5e9, 9.8e8, 7.3e8, 1.3e8, 1.6e8, 4.6e9, 1.4e8}};
  return rates;
}

}  // namespace weft
