// Which measurements no profile can make come about, and what of the scenario to look at.
#include "sim/scenario/algorithms.hpp"
#include "validation/fit/fit.hpp"
#include "validation/fit/series.hpp"

#include <algorithm>

namespace weft {

std::vector<std::string> impossible_series(const std::vector<FitPoint>& points, Simulator& simulator) {
  constexpr double tolerance_of_told = 0.8;  // where it is told from smaller calls (large_calls_test.cpp)
  std::vector<std::string> out;
  for (auto begin = points.begin(), end = begin; begin != points.end(); begin = end) {
    end = std::find_if(begin, points.end(), [&](const FitPoint& p) { return series_of(p) != series_of(*begin); });
    if (is_point_to_point(begin->setup.collective)) continue;
    const FitPoint* worst = nullptr;
    double worst_us = 0, worst_ratio = 0;
    std::ptrdiff_t impossible = 0;
    for (auto p = begin; p != end; ++p) {
      const bool told = simulator.is_told(p->setup, simulator.scenario().hardware);
      const double part = told ? tolerance_of_told : tolerance_of_links;
      const double least_us = simulator.least_us(p->setup, p->measured.time_us / part);
      const double ratio = part * least_us / p->measured.time_us;
      if (ratio <= 1) continue;
      ++impossible;
      if (ratio > worst_ratio) worst = &*p, worst_us = least_us, worst_ratio = ratio;
    }
    if (!worst) continue;
    const std::string which =
        impossible == end - begin ? "this series" : fmt::format("{} of the {} points of this series", impossible, end - begin);
    const std::string limit = simulator.limit_of_least(worst->setup);
    const std::string look =
        limit.empty() ? "at the latencies of the links that it takes, and whether ranks of one server share memory (/server)"
                      : fmt::format(
                            "and at the rate of {}, which most of that time goes by, and what shares it (\"contention\" of links, "
                            "\"nic_of_gpu\")",
                            limit);
    const char* chosen = worst->setup.algorithm.name == "mpi" ? "; of MPI, hcoll, ucc or the module han may have chosen another" : "";
    out.push_back(fmt::format(
        "{}: {} bytes in {:.4g} us, but {} by {} among {} ranks takes {:.4g} us at least in this scenario, with every cost of the profile "
        "at zero: no fit can follow {}. Look at the algorithm (/workload/algorithm, --rename{}), {}",
        worst->measured.where, worst->measured.size_bytes, worst->measured.time_us, worst->setup.collective, label(worst->setup.algorithm),
        worst->setup.ranks, worst_us, which, chosen, look));
  }
  return out;
}

}  // namespace weft
