#include "validation/fit/without_model.hpp"

#include "sim/results/row.hpp"
#include "validation/fit/series.hpp"

#include <cmath>
#include <map>
#include <tuple>

namespace weft {
namespace {

// A call on some ranks and servers, by size.
struct Scale {
  const FitPoint* any;
  std::map<std::int64_t, double> us;
};

// A point's series but for its ranks and servers.
auto series_of_all_scales(const FitPoint& p) {
  const Measurement& m = p.measured;
  const MeasuredSetup& e = p.setup;
  return std::tuple(e.collective, own_name(p), label(e.algorithm), m.in_place, e.mean_of_ranks, e.back_to_back, e.of_rank_0);
}
auto scale_of(const FitPoint& p) { return std::tuple(p.setup.ranks, p.setup.nodes, p.setup.of_each_node); }

// Of this size, by log-log interpolation; nothing beyond the sizes that were measured.
std::optional<double> us_at(const std::map<std::int64_t, double>& us, std::int64_t size) {
  const auto above = us.lower_bound(size);
  if (above == us.end()) return {};
  if (above->first == size) return above->second;
  if (above == us.begin()) return {};
  const auto below = std::prev(above);
  const auto log_of = [](std::int64_t of, std::int64_t over) { return std::log(static_cast<double>(of) / static_cast<double>(over)); };
  return below->second * std::pow(above->second / below->second, log_of(size, below->first) / log_of(above->first, below->first));
}

// How far apart two scales are, the ranks first.
auto distance(const FitPoint& a, const FitPoint& b) {
  const auto octaves = [](int x, int y) { return std::abs(std::log2(static_cast<double>(std::max(x, 1)) / std::max(y, 1))); };
  return std::pair(octaves(a.setup.ranks, b.setup.ranks), octaves(a.setup.nodes, b.setup.nodes));
}

}  // namespace

ErrorSummary summarise(const std::vector<std::optional<double>>& by_point) {
  std::vector<double> errors;
  for (const auto& error : by_point)
    if (error) errors.push_back(*error);
  return summarise(std::move(errors));
}

std::vector<std::optional<double>> interpolation_errors(const std::vector<FitPoint>& points) {
  std::map<decltype(series_of(points.front())), std::map<std::int64_t, double>> fitted;
  for (const FitPoint& p : points)
    if (p.fitted && p.measured.size_bytes > 0) fitted[series_of(p)].try_emplace(p.measured.size_bytes, p.measured.time_us);
  std::vector<std::optional<double>> out;
  for (const FitPoint& p : points) {
    out.emplace_back();
    const auto series = fitted.find(series_of(p));
    if (p.fitted || series == fitted.end() || series->second.contains(p.measured.size_bytes)) continue;  // the latter of another pair
    if (const auto us = us_at(series->second, p.measured.size_bytes)) out.back() = *us / p.measured.time_us - 1;
  }
  return out;
}

std::vector<std::optional<double>> kept_bandwidth_errors(const std::vector<FitPoint>& points) {
  std::map<decltype(series_of_all_scales(points.front())), std::map<decltype(scale_of(points.front())), Scale>> fitted;
  for (const FitPoint& p : points)
    if (p.fitted && p.measured.size_bytes > 0)
      fitted[series_of_all_scales(p)]
          .try_emplace(scale_of(p), Scale{&p, {}})
          .first->second.us.emplace(p.measured.size_bytes, p.measured.time_us);
  std::vector<std::optional<double>> out;
  for (const FitPoint& p : points) {
    out.emplace_back();
    const auto collective = collective_named(p.setup.collective);
    const auto series = fitted.find(series_of_all_scales(p));
    if (p.fitted || !collective || series == fitted.end()) continue;
    const Scale* nearest = nullptr;
    for (const auto& [ranks, scale] : series->second)
      if (!nearest || distance(*scale.any, p) < distance(*nearest->any, p)) nearest = &scale;
    const auto us = us_at(nearest->us, p.measured.size_bytes);
    if (!us || scale_of(*nearest->any) == scale_of(p)) continue;
    const double share = busbw_factor(*collective, p.setup.ranks) / busbw_factor(*collective, nearest->any->setup.ranks);
    out.back() = share * *us / p.measured.time_us - 1;
  }
  return out;
}

}  // namespace weft
