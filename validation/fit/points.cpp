#include "validation/fit/fit.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace weft {
namespace {

constexpr double tolerance = 0.98;  // of the least time: link rates are rounded numbers

std::string series_name(const Measurement& m) {
  return m.algorithm.empty() ? m.collective : fmt::format("{} of {}", m.algorithm, m.collective);
}

}  // namespace

UsedMeasurements usable(const std::vector<Measurement>& rows, Simulator& simulator, const Selection& selection) {
  UsedMeasurements out;
  std::vector<std::string> impossible;
  const Workload& workload = simulator.scenario().workload;
  const int endpoints = static_cast<int>(weft::endpoints(simulator.scenario().fabric.spec));
  for (const Measurement& row : rows) {
    if (row.in_place != selection.in_place || static_cast<double>(row.size_bytes) < selection.smallest_bytes) continue;
    if (!selection.only.empty() && std::ranges::find(selection.only, row.algorithm) == selection.only.end()) continue;
    if (row.system.find(selection.system) == row.system.npos) continue;
    const auto leave_out = [&](const std::string& why) { out.left_out.push_back(fmt::format("{}: {}", row.where, why)); };
    const auto algorithm = algorithm_measured(row, selection.renames, workload.algorithms);
    if (!algorithm) {
      leave_out(fmt::format("{} is no algorithm of Weft's; name one with --rename", series_name(row)));
      continue;
    }
    const int ranks = row.ranks > 0 ? row.ranks : workload.ranks;
    if (ranks < 2 || ranks > endpoints) {
      leave_out(fmt::format("{} ranks do not fit the scenario's {} endpoints", ranks, endpoints));
      continue;
    }
    FitPoint point{row, {row.collective, *algorithm, ranks, Bytes{row.size_bytes}}};
    const double limit = simulator.wire_limit_us(point.experiment);
    if (row.time_us < tolerance * limit) {
      impossible.push_back(fmt::format(
          "{}: {} bytes in {:g} us is faster than the scenario's wire allows, {:.4g} us at least without aggregation in the network",
          row.where, row.size_bytes, row.time_us, limit));
      continue;
    }
    out.points.push_back(std::move(point));
  }
  if (!impossible.empty()) throw InputError(std::move(impossible));

  const auto series = [](const FitPoint& p) {
    return std::tuple(p.experiment.collective, p.measured.algorithm, p.measured.system, p.measured.nodes, p.experiment.ranks);
  };
  std::ranges::stable_sort(out.points, [&](const FitPoint& a, const FitPoint& b) {
    return std::tuple(series(a), a.measured.size_bytes) < std::tuple(series(b), b.measured.size_bytes);
  });
  for (std::size_t i = 0, in_series = 0; i < out.points.size(); ++i) {
    in_series = i > 0 && series(out.points[i]) == series(out.points[i - 1]) ? in_series + 1 : 0;
    out.points[i].fitted = !selection.hold_out || in_series % 2 == 0;
  }
  return out;
}

ErrorSummary summarise(std::vector<double> errors) {
  if (errors.empty()) return {};
  for (double& e : errors) e = std::abs(e);
  std::ranges::sort(errors);
  const std::size_t n = errors.size();
  const auto rank = static_cast<std::size_t>(std::ceil(0.95 * static_cast<double>(n)));
  return {static_cast<int>(n), n % 2 ? errors[n / 2] : (errors[n / 2 - 1] + errors[n / 2]) / 2, errors[rank - 1]};
}

}  // namespace weft
