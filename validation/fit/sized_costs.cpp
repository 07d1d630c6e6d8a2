#include "validation/fit/sized_costs.hpp"

#include "kernels/base/statistics.hpp"
#include "validation/fit/fitted_message_costs.hpp"
#include "validation/fit/least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>

namespace weft {
namespace {

constexpr double least_factor = 0.02, most_factor = 50;
// What is left over at one number of ranks says less and less of others, and nothing of those so far away: on servers that were measured
// at 16 and at 64 ranks (validation/data/pico_mn5_h100_nccl), a third to a half of its logarithm was found again at the other scale.
constexpr int octaves_of_one_scale = 4;

// The left-overs of one series by size; those of equal sizes as their mean.
struct Series {
  CostAtSize call;
  std::vector<double> octave, log_ratio, log_us;
};

std::vector<Series> series_of(const std::vector<LeftOver>& left_over) {
  std::map<std::tuple<std::string, std::string, int>, std::map<std::int64_t, std::vector<const LeftOver*>>> by_series;
  for (const LeftOver& l : left_over)
    by_series[{l.call.collective, l.call.algorithm, l.call.ranks}][std::max<std::int64_t>(1, l.call.size.count)].push_back(&l);
  std::vector<Series> out;
  for (const auto& [key, sizes] : by_series) {
    Series s{.call = {std::get<0>(key), std::get<1>(key), std::get<2>(key), {}, 1}, .octave = {}, .log_ratio = {}, .log_us = {}};
    for (const auto& [size, of_size] : sizes) {
      double ratio = 0, us = 0;
      for (const LeftOver* l : of_size) ratio += l->log_ratio, us += l->log_us;
      const auto count = static_cast<double>(of_size.size());
      s.octave.push_back(std::log2(static_cast<double>(size)));
      s.log_ratio.push_back(ratio / count);
      s.log_us.push_back(us / count);
    }
    out.push_back(std::move(s));
  }
  return out;
}

// How far the i-th of these is from the straight line between its neighbours.
double off_the_line(const std::vector<double>& x, const std::vector<double>& y, std::size_t i) {
  return y[i] - std::lerp(y[i - 1], y[i + 1], (x[i] - x[i - 1]) / (x[i + 1] - x[i - 1]));
}

// How far a point of the series usually is.
double usually_off(const Series& s) {
  std::vector<double> distances;
  for (std::size_t i = 1; i + 1 < s.octave.size(); ++i) distances.push_back(std::abs(off_the_line(s.octave, s.log_ratio, i)));
  return median(std::move(distances));
}

// By how much the i-th stands alone; 0: not at all.
double alone(const Series& s, std::size_t i, double usual) {
  constexpr double least = 0.25, times_usual = 4, least_sizes = 8;  // the last in octaves: 256 bytes
  const auto& r = s.log_ratio;
  const bool first = i == 0 && s.octave[2] <= least_sizes;
  if (!first && (i == 0 || i + 1 == r.size())) return 0;
  const double off = first ? r[0] - r[1] : off_the_line(s.octave, r, i);
  const double measured = first ? s.log_us[0] - s.log_us[1] : off_the_line(s.octave, s.log_us, i);
  const double neighbours = std::abs(first ? r[1] - r[2] : r[i + 1] - r[i - 1]);
  const double both = off * measured > 0 ? std::min(std::abs(off), std::abs(measured)) : 0;
  return both > std::max(least, times_usual * usual) && neighbours < std::abs(off) / 2 ? both : 0;
}

// The one that stands alone most goes first: its neighbours may only seem to. Returns the octaves of those that went.
std::vector<double> take_alone(Series& s) {
  constexpr std::size_t fewest = 5;  // of fewer nobody knows which one is wrong
  std::vector<double> out;
  while (s.octave.size() >= fewest) {
    const double usual = usually_off(s);
    std::size_t most = 0;
    double how_much = 0;
    for (std::size_t i = 0; i < s.octave.size(); ++i)
      if (const double is = alone(s, i, usual); is > how_much) most = i, how_much = is;
    if (how_much == 0) break;
    out.push_back(s.octave[most]);
    for (std::vector<double>* values : {&s.octave, &s.log_ratio, &s.log_us})
      values->erase(values->begin() + static_cast<std::ptrdiff_t>(most));
  }
  return out;
}

// K (K + noise I)^-1 r: what a Gaussian process says at the sizes themselves.
std::vector<double> smooth(const std::vector<double>& x, const std::vector<double>& r, double noise) {
  const std::size_t n = x.size();
  std::vector<std::vector<double>> a(n, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) a[i][j] = covariance_of_sizes(x[i] - x[j]) + (i == j ? noise : 0);
  const std::vector<double> weights = solve(std::move(a), r).value_or(std::vector<double>(n));
  std::vector<double> out(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) out[i] += covariance_of_sizes(x[i] - x[j]) * weights[j];
  return out;
}

// Straight lines between the sizes, as cost_factor has them.
double line_at(const std::vector<double>& x, const std::vector<double>& y, double at) {
  const auto above = static_cast<std::size_t>(std::ranges::lower_bound(x, at) - x.begin());
  if (above == 0) return y.front();
  if (above == x.size()) return y.back();
  return y[above - 1] + (at - x[above - 1]) / (x[above] - x[above - 1]) * (y[above] - y[above - 1]);
}

// The series of one collective and algorithm, by rising ranks.
using Scales = std::vector<const Series*>;

std::vector<Scales> scales_of(const std::vector<Series>& all) {
  std::map<std::pair<std::string, std::string>, Scales> out;
  for (const Series& s : all) out[{s.call.collective, s.call.algorithm}].push_back(&s);  // their order is that of the ranks
  std::vector<Scales> lists;
  for (const auto& [key, scales] : out) lists.push_back(scales);
  return lists;
}

// Whether the least and the largest number of ranks are predicted better with the factors of the number next to them than without any.
bool hold_beyond(const Scales& scales, double noise) {
  std::vector<double> with, without;
  const auto judge = [&](const Series& left_out, const Series& neighbour) {
    const std::vector<double> line = smooth(neighbour.octave, neighbour.log_ratio, noise);
    for (std::size_t i = 0; i < left_out.octave.size(); ++i) {
      without.push_back(left_out.log_ratio[i]);
      with.push_back(left_out.log_ratio[i] - line_at(neighbour.octave, line, left_out.octave[i]));
    }
  };
  judge(*scales.front(), *scales[1]);
  judge(*scales.back(), *scales[scales.size() - 2]);
  return robust_loss(with, error_knee) <= robust_loss(without, error_knee);
}

// None is left so many octaves of ranks beyond those that were measured; in between they fade along a straight line of logarithms.
void fade_out(const Scales& scales, int octaves, std::vector<CostAtSize>& out) {
  std::vector<CostAtSize> beyond;
  const auto end_at = [&](const Series& s, int ranks) {
    const double share = std::abs(std::log2(static_cast<double>(ranks) / s.call.ranks)) / octaves;
    for (CostAtSize cost : out) {
      if (cost.collective != s.call.collective || cost.algorithm != s.call.algorithm || cost.ranks != s.call.ranks) continue;
      cost.ranks = ranks;
      cost.factor = std::pow(cost.factor, 1 - share);
      beyond.push_back(cost);
    }
  };
  constexpr int fewest = 2;
  const Series &least = *scales.front(), &most = *scales.back();
  if (least.call.ranks > fewest) end_at(least, std::max(fewest, least.call.ranks >> octaves));
  end_at(most, most.call.ranks << octaves);
  out.insert(out.end(), beyond.begin(), beyond.end());
}

std::vector<CostAtSize> factors_of(const std::vector<Series>& all, double noise) {
  std::vector<CostAtSize> out;
  for (const Series& s : all) {
    const std::vector<double> smoothed = smooth(s.octave, s.log_ratio, noise);
    for (std::size_t i = 0; i < smoothed.size(); ++i) {
      out.push_back(s.call);
      out.back().size = Bytes{std::llround(std::exp2(s.octave[i]))};
      out.back().factor = std::clamp(std::exp(smoothed[i]), least_factor, most_factor);
    }
  }
  for (const Scales& scales : scales_of(all)) {
    if (scales.size() == 1)
      fade_out(scales, octaves_of_one_scale, out);
    else if (!hold_beyond(scales, noise))
      fade_out(scales, 1, out);
  }
  return out;
}

bool same_call(const CostAtSize& a, const CostAtSize& b) {
  return std::tie(a.collective, a.algorithm, a.ranks) == std::tie(b.collective, b.algorithm, b.ranks) &&
         std::max<std::int64_t>(1, a.size.count) == std::max<std::int64_t>(1, b.size.count);
}

// The factor with which a logarithm of times comes to what is wanted, when this one made it come to `reached` from 0: as much more or
// less as is missing, by a straight line.
double nearer(double factor, double wanted, double reached) {
  constexpr double most_at_once = 4;
  if (wanted == 0 || factor == 1) return factor;
  const double share = std::clamp(wanted / reached, 1 / most_at_once, most_at_once);
  return std::clamp(std::exp(std::log(factor) * (reached * wanted > 0 ? share : most_at_once)), least_factor, most_factor);
}

// A call of a size between two neighbours of a series, and the times of these.
struct Between {
  FitPoint point;
  double least_us = 0, most_us = 0;
};

// At every power of two between the sizes of the points, for each series by itself. `us`: simulated, by point.
std::vector<Between> between(const std::vector<const FitPoint*>& points, const std::vector<double>& us) {
  std::map<std::string, std::map<std::int64_t, std::size_t>> by_series;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const MeasuredSetup& e = points[i]->setup;
    by_series[fmt::format("{} {} {} {} {} {} {}", e.collective, label(e.algorithm), e.ranks, e.nodes, e.of_each_node, e.from, e.to)]
        .try_emplace(e.size.count, i);
  }
  std::vector<Between> out;
  for (const auto& [series, sizes] : by_series)
    for (auto below = sizes.begin(); below != sizes.end() && std::next(below) != sizes.end(); ++below) {
      const auto above = std::next(below);
      const auto [least, most] = std::minmax(us[below->second], us[above->second]);
      for (std::int64_t size = 2 * below->first; size > 0 && size < above->first; size *= 2) {
        out.push_back({*points[below->second], least, most});
        out.back().point.setup.size = Bytes{size};
        out.back().point.measured.size_bytes = size;
      }
    }
  return out;
}

// Between two sizes a call takes no less than at the smaller one and no more than at the larger, whatever NCCL is expected to choose there:
// where it would, there are factors that hold it.
void hold_between(Objective& objective, const std::vector<double>& values, std::vector<CostAtSize>& costs) {
  constexpr double outside = 1.02;
  constexpr int rounds = 3;
  std::vector<Between> all = between(objective.points(), objective.simulated(values, costs));
  for (int round = 0; round < rounds && !all.empty(); ++round) {
    std::vector<const FitPoint*> points;
    for (const Between& b : all) points.push_back(&b.point);
    Objective there = objective.on(std::move(points));
    const std::vector<double> us = there.simulated(values, costs);
    const std::vector<CostAtSize> calls = there.calls(values);
    std::vector<Between> held;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double wanted = std::clamp(us[i], all[i].least_us, all[i].most_us);
      if (std::max(us[i], wanted) <= outside * std::min(us[i], wanted)) continue;
      auto at = std::ranges::find_if(costs, [&](const CostAtSize& cost) { return same_call(cost, calls[i]); });
      if (at == costs.end()) {
        const double now = cost_factor(costs, {calls[i].collective, calls[i].algorithm, calls[i].ranks, calls[i].size});
        costs.push_back(calls[i]);
        costs.back().factor = now;
        at = std::prev(costs.end());
      }
      at->factor = std::clamp(at->factor * wanted / us[i], least_factor, most_factor);
      held.push_back(std::move(all[i]));
    }
    all = std::move(held);
  }
}

}  // namespace

std::vector<CostAtSize> smoothed(const std::vector<LeftOver>& left_over) {
  std::vector<Series> all = series_of(left_over);
  for (Series& s : all) take_alone(s);
  std::erase_if(all, [](const Series& s) { return s.octave.size() < 2; });  // nothing says that another size would be alike
  std::vector<double> ratios;
  for (const Series& s : all) ratios.insert(ratios.end(), s.log_ratio.begin(), s.log_ratio.end());
  const double variance = variance_left_over(ratios);
  return variance > 0 ? factors_of(all, repeatability * repeatability / variance) : std::vector<CostAtSize>{};
}

LeftOver left_over_of(CostAtSize call, const FitPoint& point, double simulated_us) {
  const double log_us = std::log(point.wanted_us());
  return {std::move(call), log_us - std::log(std::max(simulated_us, 1e-6)), log_us};
}

std::vector<bool> standing_alone(const std::vector<LeftOver>& left_over) {
  std::vector<bool> out(left_over.size());
  for (Series& s : series_of(left_over)) {
    const std::vector<double> gone = take_alone(s);
    for (std::size_t i = 0; i < left_over.size(); ++i) {
      const CostAtSize& call = left_over[i].call;
      if (std::tie(call.collective, call.algorithm, call.ranks) != std::tie(s.call.collective, s.call.algorithm, s.call.ranks)) continue;
      const double octave = std::log2(static_cast<double>(std::max<std::int64_t>(1, call.size.count)));
      if (std::ranges::find(gone, octave) != gone.end()) out[i] = true;
    }
  }
  return out;
}

double covariance_of_sizes(double octaves) {
  constexpr double correlated = 6;  // sizes so far apart share 1/e of what is left over
  return std::exp(-std::abs(octaves) / correlated);
}

double variance_left_over(const std::vector<double>& log_ratios) {
  double squares = 0;
  for (const double r : log_ratios) squares += r * r;
  return log_ratios.empty() ? 0 : std::max(0.0, squares / static_cast<double>(log_ratios.size()) - repeatability * repeatability);
}

std::vector<CostAtSize> sized_costs(Objective& objective, const std::vector<double>& values) {
  const std::vector<CostAtSize> calls = objective.calls(values);
  std::vector<LeftOver> left_over;
  const std::vector<CostAtSize> of_messages = message_costs(objective, values);
  const std::vector<double> without = objective.simulated(values, of_messages);
  for (std::size_t i = 0; i < calls.size(); ++i) left_over.push_back(left_over_of(calls[i], *objective.points()[i], without[i]));
  std::vector<CostAtSize> out = smoothed(left_over);
  const std::vector<CostAtSize> wanted = out;
  constexpr int rounds = 4;  // what no factor reaches, as cables' latencies, is made up for by the rest
  constexpr double near = 1e-3;
  std::vector<std::vector<std::size_t>> off(out.size());  // by factor that is not near yet, the points whose call it is of
  for (std::size_t k = 0; k < out.size(); ++k)
    for (std::size_t i = 0; i < calls.size(); ++i)
      if (same_call(calls[i], out[k])) off[k].push_back(i);
  for (int round = 0; round < rounds; ++round) {
    std::vector<const FitPoint*> points;
    for (const auto& of : off)
      for (const std::size_t i : of) points.push_back(objective.points()[i]);
    if (points.empty()) break;
    std::vector<CostAtSize> all = of_messages;
    all.insert(all.end(), out.begin(), out.end());
    const std::vector<double> with = objective.on(std::move(points)).simulated(values, all);
    auto next = with.begin();
    for (std::size_t k = 0; k < out.size(); ++k) {
      if (off[k].empty()) continue;
      double reached = 0;
      for (const std::size_t i : off[k]) reached += std::log(std::max(*next++, 1e-6) / std::max(without[i], 1e-6));
      reached /= static_cast<double>(off[k].size());
      const double log_wanted = std::log(wanted[k].factor);
      if (std::abs(log_wanted - reached) <= near)
        off[k].clear();
      else
        out[k].factor = nearer(out[k].factor, log_wanted, reached);
    }
  }
  out.insert(out.begin(), of_messages.begin(), of_messages.end());
  hold_between(objective, values, out);
  for (CostAtSize& cost : out) cost.factor = std::round(cost.factor * 1e4) / 1e4;
  return out;
}

}  // namespace weft
