#include "sim/results/activity_shown.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace weft {
namespace {

// The numbers of the largest of these values, the largest first, without those that are 0.
std::vector<std::size_t> largest(const std::vector<double>& values, std::size_t most) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t i) { return values[i] <= 0; });
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  order.resize(std::min(order.size(), most));
  return order;
}

double one_decimal(double value) { return std::round(value * 10) / 10; }

struct Level {
  const std::string* name;
  const LevelRecord* record;
};

}  // namespace

std::vector<double> use_of_links(const Timeline& timeline) {
  const NetworkActivity& activity = timeline.activity;
  std::vector<double> out(activity.bytes_on_link.size());
  const double seconds = (activity.end - activity.begin).seconds();
  if (seconds <= 0) return out;
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = 8.0 * static_cast<double>(activity.bytes_on_link[i]) /
             (static_cast<double>(timeline.fabric->link(static_cast<LinkId>(i)).bandwidth.count) * seconds);
  return out;
}

ShownActivity shown_activity(const Timeline& timeline, std::size_t max_of_a_kind, std::size_t max_intervals) {
  const NetworkActivity& activity = timeline.activity;
  std::vector<const TimeSeries*> all;
  for (const TimeSeries& link : activity.bits_on_link) all.push_back(&link);
  for (const auto& [name, level] : activity.levels) all.push_back(&level.series);
  ShownActivity out{.width = common_width(all, activity.end)};
  while (out.width * static_cast<std::int64_t>(max_intervals) < activity.end) out.width = out.width + out.width;
  if (!activity.bits_on_link.empty())
    for (const std::size_t i : largest(use_of_links(timeline), max_of_a_kind)) {
      const auto id = static_cast<LinkId>(i);
      ShownSeries series{.kind = "link",
                         .name = "link " + timeline.fabric->link_name(id),
                         .unit = "%",
                         .values = activity.bits_on_link[i].over(out.width, activity.end)};
      const double full = static_cast<double>(timeline.fabric->link(id).bandwidth.count) * out.width.seconds();
      for (double& value : series.values) value = one_decimal(100 * value / full);
      out.series.push_back(std::move(series));
    }
  std::map<std::string, std::vector<Level>> kinds;
  for (const auto& [name, record] : activity.levels) kinds[name.substr(0, name.find(' '))].push_back({&name, &record});
  for (const auto& [kind, levels] : kinds) {
    std::vector<std::vector<double>> values;
    std::vector<double> peaks;
    for (const Level& level : levels) {
      values.push_back(level.record->series.over(out.width, activity.end));
      peaks.push_back(values.back().empty() ? 0 : *std::ranges::max_element(values.back()));
    }
    for (const std::size_t i : largest(peaks, max_of_a_kind))
      out.series.push_back({.kind = kind, .name = *levels[i].name, .unit = levels[i].record->unit, .values = std::move(values[i])});
  }
  return out;
}

}  // namespace weft
