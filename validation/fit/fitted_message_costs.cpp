#include "validation/fit/fitted_message_costs.hpp"

#include "models/message_costs.hpp"
#include "validation/fit/least_squares.hpp"
#include "validation/fit/sized_costs.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <tuple>

namespace weft {
namespace {

constexpr double says_nothing = 1e6;  // as noise, over the variance of what is left over

// Of each point, by octave: how its logarithm follows that of the factor there.
using Shares = std::vector<std::map<int, double>>;

std::vector<CostAtSize> costs_at(const std::map<int, double>& log_factors) {
  const std::string name(name_of_message_costs);
  std::vector<CostAtSize> out;
  for (const auto& [octave, log_factor] : log_factors)
    out.push_back({name, name, 2, Bytes{std::int64_t{1} << octave},
                   std::clamp(std::exp(log_factor), message_cost_bounds.first, message_cost_bounds.second)});
  return out;
}

// Every octave between which a message of the points lies, with factor 1.
std::map<int, double> octaves_of(const std::vector<std::vector<std::int64_t>>& sizes) {
  std::map<int, double> out;
  for (const auto& of_point : sizes)
    for (const std::int64_t size : of_point) {
      const int below = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(1, size)))) - 1;
      out[below] = 0;
      if (size > std::int64_t{1} << below) out[below + 1] = 0;
    }
  return out;
}

// The octaves whose factor a message of this size feels, of those known.
bool feels(std::int64_t size, const std::map<int, double>& octaves, std::map<int, double>::const_iterator octave) {
  const double at = std::log2(static_cast<double>(std::max<std::int64_t>(1, size)));
  const bool above_the_one_below = octave == octaves.begin() || at > std::prev(octave)->first;
  const bool below_the_one_above = std::next(octave) == octaves.end() || at < std::next(octave)->first;
  return above_the_one_below && below_the_one_above;
}

Shares shares_of(Objective& objective, const std::vector<double>& values, const std::vector<double>& plain_us,
                 const std::vector<std::vector<std::int64_t>>& sizes, const std::map<int, double>& octaves) {
  constexpr double moved = 0.1;
  Shares out(plain_us.size());
  for (auto octave = octaves.begin(); octave != octaves.end(); ++octave) {
    std::vector<std::size_t> which;
    std::vector<const FitPoint*> points;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (std::ranges::any_of(sizes[i], [&](std::int64_t size) { return feels(size, octaves, octave); }))
        which.push_back(i), points.push_back(objective.points()[i]);
    std::map<int, double> one = octaves;
    one[octave->first] = moved;
    const std::vector<double> us = objective.on(std::move(points)).simulated(values, costs_at(one));
    for (std::size_t k = 0; k < which.size(); ++k)
      if (us[k] > 0 && plain_us[which[k]] > 0) out[which[k]][octave->first] = std::log(us[k] / plain_us[which[k]]) / moved;
  }
  return out;
}

// What two points have in common of the messages' factors.
double common(const std::map<int, double>& a, const std::map<int, double>& b) {
  double out = 0;
  for (const auto& [at, share] : a)
    for (const auto& [other, of_other] : b) out += share * of_other * covariance_of_sizes(at - other);
  return out;
}

double octave_of(const CostAtSize& call) { return std::log2(static_cast<double>(std::max<std::int64_t>(1, call.size.count))); }

// And of the factors of their calls.
double common(const CostAtSize& a, const CostAtSize& b) {
  if (std::tie(a.collective, a.algorithm, a.ranks, a.servers) != std::tie(b.collective, b.algorithm, b.ranks, b.servers)) return 0;
  return covariance_of_sizes(octave_of(a) - octave_of(b));
}

}  // namespace

std::vector<CostAtSize> message_costs(Objective& objective, const std::vector<double>& values) {
  const std::vector<std::vector<std::int64_t>> sizes = objective.message_sizes(values);
  const std::map<int, double> octaves = octaves_of(sizes);
  if (octaves.empty()) return {};
  const std::vector<double> plain_us = objective.simulated(values);
  const std::vector<CostAtSize> calls = objective.calls(values);
  const std::size_t n = calls.size();
  std::vector<LeftOver> of_calls;
  for (std::size_t i = 0; i < n; ++i) of_calls.push_back(left_over_of(calls[i], *objective.points()[i], plain_us[i]));
  const std::vector<bool> alone = standing_alone(of_calls);
  std::vector<double> left_over, not_alone;
  for (std::size_t i = 0; i < n; ++i) {
    left_over.push_back(of_calls[i].log_ratio);
    if (!alone[i]) not_alone.push_back(of_calls[i].log_ratio);
  }
  const double variance = variance_left_over(not_alone);
  if (!(variance > 0)) return {};
  const Shares shares = shares_of(objective, values, plain_us, sizes, octaves);
  std::vector<std::vector<double>> together(n, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      together[i][j] = common(shares[i], shares[j]) + common(calls[i], calls[j]);
      if (i == j) together[i][j] += alone[i] ? says_nothing : 2 * repeatability * repeatability / variance;
    }
  const auto weights = solve(std::move(together), left_over);
  if (!weights) return {};
  std::map<int, double> log_factors = octaves;
  for (auto& [octave, log_factor] : log_factors)
    for (std::size_t i = 0; i < n; ++i)
      for (const auto& [at, share] : shares[i]) log_factor += covariance_of_sizes(octave - at) * share * (*weights)[i];
  return costs_at(log_factors);
}

}  // namespace weft
