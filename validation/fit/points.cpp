#include "models/server/server_fabric.hpp"
#include "validation/fit/fit.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace weft {
namespace {

constexpr double tolerance = 0.98;  // of the least time: link rates are rounded numbers

std::string unknown_algorithm(const Measurement& m) {
  if (m.algorithm.empty()) return fmt::format("the scenario has no algorithm that does {}; name one with --rename =NAME", m.collective);
  return fmt::format("{} of {} is no algorithm of Weft's; name one with --rename", m.algorithm, m.collective);
}

// Where a measurement stands in its series; those of the same size there measured the same thing.
auto series_of(const FitPoint& p) {
  const Measurement& m = p.measured;
  return std::tuple(p.setup.collective, m.algorithm, m.system, m.nodes, m.gpus, p.setup.ranks, m.in_place);
}
auto place_of(const FitPoint& p) { return std::tuple(series_of(p), p.measured.size_bytes); }

std::string file_of(const Measurement& m) { return m.where.substr(0, m.where.rfind(':')); }

// Points of the same thing, from `begin` on, as one.
FitPoint mean_of(const std::vector<FitPoint>& points, std::size_t begin, std::size_t end) {
  FitPoint out = points[begin];
  const auto n = static_cast<double>(end - begin);
  if (end - begin == 1) return out;
  double sum = 0, squares = 0;
  for (std::size_t i = begin; i < end; ++i) sum += points[i].measured.time_us;
  for (std::size_t i = begin; i < end; ++i) squares += std::pow(points[i].measured.time_us - sum / n, 2);
  out.measured.time_us = sum / n;
  out.measured.spread_us = std::sqrt(squares / (n - 1));
  out.measured.repeats = static_cast<int>(end - begin);
  return out;
}

// Makes points of rows, one after the other.
class Points {
 public:
  Points(Simulator& simulator, const Selection& selection)
      : simulator_(simulator),
        selection_(selection),
        workload_(simulator.scenario().workload),
        endpoints_(static_cast<int>(endpoints(simulator.scenario().fabric.spec, simulator.scenario().server))) {}

  void add(Measurement row) {
    const auto algorithm = algorithm_measured(row, selection_.renames, workload_.algorithms);
    if (!algorithm) return leave_out(row, unknown_algorithm(row));
    const int ranks = ranks_of(row);
    if (ranks == 0) return;
    if (ranks < 2 || ranks > endpoints_)
      return leave_out(row, fmt::format("{} ranks do not fit the scenario's {} endpoints", ranks, endpoints_));
    if (row.size_of_a_rank) {
      if (row.size_bytes > largest_bytes / ranks)
        return leave_out(row, fmt::format("{} blocks of {} bytes are more than {} bytes", ranks, row.size_bytes, largest_bytes));
      row.size_bytes *= ranks;
      row.size_of_a_rank = false;
    }
    FitPoint point{row, {row.collective, *algorithm, ranks, Bytes{row.size_bytes}}};
    const double limit = simulator_.wire_limit_us(point.setup);
    if (row.time_us < tolerance * limit)
      refused_.push_back(fmt::format(
          "{}: {} bytes in {:g} us is faster than the scenario's wire allows, {:.4g} us at least without aggregation in the network",
          row.where, row.size_bytes, row.time_us, limit));
    else
      out_.points.push_back(std::move(point));
  }

  UsedMeasurements finish() {
    if (!refused_.empty()) throw InputError(std::move(refused_));
    std::ranges::stable_sort(out_.points, [](const FitPoint& a, const FitPoint& b) { return place_of(a) < place_of(b); });
    std::vector<FitPoint> points;
    for (std::size_t begin = 0, end = 0; begin < out_.points.size(); begin = end) {
      while (end < out_.points.size() && place_of(out_.points[end]) == place_of(out_.points[begin])) ++end;
      points.push_back(mean_of(out_.points, begin, end));
    }
    for (std::size_t i = 0, in_series = 0; i < points.size(); ++i) {
      in_series = i > 0 && series_of(points[i]) == series_of(points[i - 1]) ? in_series + 1 : 0;
      points[i].fitted = !selection_.hold_out || in_series % 2 == 0;
    }
    out_.points = std::move(points);
    return std::move(out_);
  }

 private:
  void leave_out(const Measurement& row, const std::string& why) { out_.left_out.push_back(fmt::format("{}: {}", row.where, why)); }
  void assume(const Measurement& row, const std::string& what) {
    std::string text = fmt::format("{}: {}", file_of(row), what);
    if (std::ranges::find(out_.assumed, text) == out_.assumed.end()) out_.assumed.push_back(std::move(text));
  }

  // As the row says, or as the scenario does where the row says nothing else; 0 where they contradict each other.
  int ranks_of(const Measurement& row) {
    if (row.ranks > 0) {
      if (row.nodes > 0 && row.ranks > row.nodes && row.collective != "latency")
        assume(row, fmt::format("{} ranks on {} nodes are taken for ranks with an endpoint of the network each", row.ranks, row.nodes));
      return row.ranks;
    }
    if (row.nodes > 0 && row.nodes != workload_.ranks) {
      const std::string what = fmt::format(
          "measured on {} nodes, but the scenario's workload has {} ranks: set the fabric and /workload/ranks to what was measured, or "
          "give the column \"ranks\"",
          row.nodes, workload_.ranks);
      if (nodes_refused_.insert(row.nodes).second) refused_.push_back(fmt::format("{}: {}", row.where, what));
      return 0;
    }
    assume(row, fmt::format("does not say how many ranks were measured; taken for the scenario's {}", workload_.ranks));
    return workload_.ranks;
  }

  Simulator& simulator_;
  const Selection& selection_;
  const Workload& workload_;
  const int endpoints_;
  UsedMeasurements out_;
  std::vector<std::string> refused_;
  std::set<int> nodes_refused_;
};

}  // namespace

UsedMeasurements usable(const std::vector<Measurement>& rows, Simulator& simulator, const Selection& selection) {
  Points points(simulator, selection);
  for (const Measurement& row : rows) points.add(row);
  return points.finish();
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
