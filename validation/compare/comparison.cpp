#include "validation/compare/comparison.hpp"

#include "kernels/base/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace weft {

std::string to_table(const std::vector<Compared>& rows) {
  std::size_t width = 9;
  for (const Compared& row : rows) width = std::max(width, row.algorithm.size());
  std::string out = fmt::format("# {:>10}  {:<{}} {:>13} {:>13} {:>8}\n", "size", "algorithm", width, "measured", "simulated", "error");
  out += fmt::format("# {:>10}  {:<{}} {:>13} {:>13} {:>8}\n", "(B)", "", width, "(us)", "(us)", "(%)");
  for (const Compared& row : rows)
    out += fmt::format("{:>12}  {:<{}} {:>13.2f} {:>13.2f} {:>+8.1f}\n", row.size_bytes, row.algorithm, width, row.measured_us,
                       row.simulated_us, row.error_percent());
  const auto size_of_error = [](const Compared& row) { return std::abs(row.error_percent()); };
  std::vector<double> errors;
  std::transform(rows.begin(), rows.end(), std::back_inserter(errors), size_of_error);
  const auto worst = std::max_element(errors.begin(), errors.end());
  if (worst == errors.end()) return out;
  const Compared& row = rows[static_cast<std::size_t>(worst - errors.begin())];
  return out + fmt::format("# error of the simulation: median {:.1f} %, largest {:.1f} % ({}, {} B)\n", median(errors), *worst,
                           row.algorithm, row.size_bytes);
}

}  // namespace weft
