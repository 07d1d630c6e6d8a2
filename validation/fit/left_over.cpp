#include "validation/fit/left_over.hpp"

#include "kernels/base/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace weft {
namespace {

// How far the i-th of these is from the straight line between its neighbours.
double off_the_line(const std::vector<Left>& s, double Left::*value, std::size_t i) {
  const Left &below = s[i - 1], &above = s[i + 1];
  const double width = above.octave - below.octave;
  return s[i].*value - std::lerp(below.*value, above.*value, width > 0 ? (s[i].octave - below.octave) / width : 0.5);
}

// How far a point of the series usually is, or from the middle one, if that is less: a few that stand alone take their neighbours off the
// lines, too, but leave the middle where it is.
double usually_off(const std::vector<Left>& s) {
  std::vector<double> from_line, left, from_middle;
  for (std::size_t i = 1; i + 1 < s.size(); ++i) from_line.push_back(std::abs(off_the_line(s, &Left::log_ratio, i)));
  for (const Left& l : s) left.push_back(l.log_ratio);
  const double middle = median(left);
  for (const double l : left) from_middle.push_back(std::abs(l - middle));
  return std::min(median(std::move(from_line)), median(std::move(from_middle)));
}

// By how much the i-th stands alone; 0: not at all, or as the only one of its algorithm there.
double alone(const std::vector<Left>& s, std::size_t i, double usual) {
  constexpr double least = 0.25, times_usual = 4, min_sizes = 8;  // the last in octaves: 256 bytes
  if (s[i].is_repeated) return 0;
  const bool first = i == 0 && s[2].octave <= min_sizes;
  if (!first && (i == 0 || i + 1 == s.size())) return 0;
  const auto is_alike = [&](std::size_t other) { return s[other].algorithm == s[i].algorithm; };
  if (!is_alike(i + 1) && (first || !is_alike(i - 1))) return 0;
  const double off = first ? s[0].log_ratio - s[1].log_ratio : off_the_line(s, &Left::log_ratio, i);
  const double measured = first ? s[0].log_us - s[1].log_us : off_the_line(s, &Left::log_us, i);
  const double neighbours = std::abs(first ? s[1].log_ratio - s[2].log_ratio : s[i + 1].log_ratio - s[i - 1].log_ratio);
  const double both = off * measured > 0 ? std::min(std::abs(off), std::abs(measured)) : 0;
  return both > std::max(least, times_usual * usual) && neighbours < std::abs(off) / 2 ? both : 0;
}

// Octaves of those that stand alone. The one that does so most goes first: its neighbours may only seem to.
std::vector<double> alone_in(std::vector<Left> s) {
  constexpr std::size_t fewest = 5;  // of fewer nobody knows which one is wrong
  std::vector<double> out;
  while (s.size() >= fewest) {
    const double usual = usually_off(s);
    std::size_t most = 0;
    double how_much = 0;
    for (std::size_t i = 0; i < s.size(); ++i)
      if (const double is = alone(s, i, usual); is > how_much) most = i, how_much = is;
    if (how_much == 0) break;
    out.push_back(s[most].octave);
    s.erase(s.begin() + static_cast<std::ptrdiff_t>(most));
  }
  return out;
}

// Which sizes stand alone in each series, whatever algorithms the library chose along it.
using AloneOfSeries = std::map<std::tuple<std::string, int, std::string>, std::vector<double>>;

AloneOfSeries alone_of_series(const std::vector<LeftOver>& left_over) {
  std::map<AloneOfSeries::key_type, std::vector<Left>> all;
  for (const LeftOver& l : left_over)
    all[{l.call.collective, l.call.ranks, l.series}].push_back(
        {l.call.algorithm, octave_of(l.call.size), l.log_ratio, l.log_us, l.is_repeated});
  AloneOfSeries out;
  for (const auto& [series, left] : all) out[series] = alone_in(by_size(left));
  return out;
}

}  // namespace

std::vector<Left> by_size(const std::vector<Left>& all) {
  std::map<std::pair<double, std::string>, std::vector<const Left*>> alike;
  for (const Left& l : all) alike[{l.octave, l.algorithm}].push_back(&l);
  std::vector<Left> out;
  for (const auto& [key, of_size] : alike) {
    double ratio = 0, us = 0;
    for (const Left* l : of_size) ratio += l->log_ratio, us += l->log_us;
    const auto count = static_cast<double>(of_size.size());
    const bool repeated = std::ranges::any_of(of_size, [](const Left* l) { return l->is_repeated; });
    out.push_back({key.second, key.first, ratio / count, us / count, repeated});
  }
  return out;
}

double octave_of(Bytes size) { return std::log2(static_cast<double>(std::max<std::int64_t>(1, size.count))); }

LeftOver left_over_of(CostAtSize call, const FitPoint& point, double simulated_us) {
  constexpr int several = 3;
  constexpr double alike = 0.1;  // where a quarter is far (`least` above)
  const double log_us = std::log(point.wanted_us());
  const MeasuredSetup& e = point.setup;
  const Measurement& m = point.measured;
  return {std::move(call), log_us - std::log(std::max(simulated_us, 1e-6)), log_us,
          fmt::format("{} {} {}", label(e.algorithm), e.nodes, e.of_each_node), m.repeats >= several && m.spread_us < alike * m.time_us};
}

std::vector<bool> standing_alone(const std::vector<LeftOver>& left_over) {
  const AloneOfSeries alone = alone_of_series(left_over);
  std::vector<bool> out;
  for (const LeftOver& l : left_over)
    out.push_back(std::ranges::count(alone.at({l.call.collective, l.call.ranks, l.series}), octave_of(l.call.size)) > 0);
  return out;
}

}  // namespace weft
