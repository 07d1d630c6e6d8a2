#include "validation/lab/compare.hpp"

#include <algorithm>

namespace weft::lab {
namespace {

double error_of(const Compared& row) { return row.predicted_us / row.measured_us - 1; }

// How much longer the second takes, in percent.
std::string relation(double first_us, double second_us) {
  const double percent = 100 * (second_us / first_us - 1);
  return percent < 0 ? fmt::format("slower by {:.0f} %", 100 * (first_us / second_us - 1)) : fmt::format("faster by {:.0f} %", percent);
}

}  // namespace

ErrorSummary errors_of(const std::vector<Compared>& rows) {
  std::vector<double> errors;
  for (const Compared& row : rows)
    if (!row.fitted) errors.push_back(error_of(row));
  return summarise(std::move(errors));
}

Order order_of(const std::vector<Compared>& rows) {
  Order order;
  for (const Compared& fast : rows)
    for (const Compared& slow : rows) {
      if (fast.size != slow.size || slow.measured_us <= (1 + clear_difference) * fast.measured_us) continue;
      ++order.pairs;
      if (fast.predicted_us < slow.predicted_us) continue;
      order.wrong.push_back(fmt::format("{}: {} is faster than {} by {:.0f} %, predicted {}", to_string(fast.size), fast.algorithm,
                                        slow.algorithm, 100 * (slow.measured_us / fast.measured_us - 1),
                                        relation(fast.predicted_us, slow.predicted_us)));
    }
  return order;
}

std::string to_table(const std::vector<Compared>& rows) {
  std::size_t width = 9;
  for (const Compared& row : rows) width = std::max(width, row.algorithm.size());
  std::string out =
      fmt::format("# {:<{}} {:>12} {:>14} {:>14} {:>8}\n", "algorithm", width, "size (B)", "measured (us)", "predicted (us)", "error");
  for (const Compared& row : rows)
    out += fmt::format("  {:<{}} {:>12} {:>14.1f} {:>14.1f} {:>+6.1f} %{}\n", row.algorithm, width, row.size.count, row.measured_us,
                       row.predicted_us, 100 * error_of(row), row.fitted ? "  fitted" : "");
  const ErrorSummary errors = errors_of(rows);
  const Order order = order_of(rows);
  out += fmt::format("#\n# predicted: {} points, median error {:.1f} %, 95th percentile {:.1f} %\n", errors.points, 100 * errors.median,
                     100 * errors.p95);
  out += fmt::format("# order: {} of {} pairs right that differ by more than {:.0f} %\n",
                     order.pairs - static_cast<int>(order.wrong.size()), order.pairs, 100 * clear_difference);
  for (const std::string& line : order.wrong) out += fmt::format("#   wrong at {}\n", line);
  return out;
}

}  // namespace weft::lab
