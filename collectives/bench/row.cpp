#include "collectives/bench/row.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weft::bench {

double Row::quantile_us(double part) const { return quantile_of(times_us, part); }

double quantile_of(std::vector<double> times_us, double part) {
  std::sort(times_us.begin(), times_us.end());
  const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(times_us.size())));
  return times_us[std::clamp<std::size_t>(rank, 1, times_us.size()) - 1];
}

double variation_percent(const std::vector<double>& times_us) {
  const double n = static_cast<double>(times_us.size());
  const double mean = std::accumulate(times_us.begin(), times_us.end(), 0.0) / n;
  double squares = 0;
  for (const double t : times_us) squares += (t - mean) * (t - mean);
  return mean > 0 ? 100 * std::sqrt(squares / n) / mean : 0;
}

double bus_factor(Collective collective, int ranks) {
  const double n = ranks;
  switch (collective) {
    case Collective::allreduce:
      return 2 * (n - 1) / n;
    case Collective::reduce_scatter:
    case Collective::allgather:
    case Collective::alltoall:
      return (n - 1) / n;
    default:
      return 1;
  }
}

TestData test_data(const Settings& s) { return {.values = s.ranks <= max_ranks_summed_exactly(s.dtype) ? Values::whole : Values::real}; }

Row row_of(const Settings& s, const std::string& algorithm, std::int64_t elements) {
  Row row{.algorithm = algorithm, .size_bytes = elements * static_cast<std::int64_t>(size_of(s.dtype)), .count = elements};
  const Collective c = s.collective;
  if (c == Collective::allgather || c == Collective::reduce_scatter || c == Collective::alltoall) row.count /= s.ranks;
  return row;
}

}  // namespace weft::bench
