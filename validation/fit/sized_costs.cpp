#include "validation/fit/sized_costs.hpp"

#include "models/message_costs.hpp"
#include "validation/fit/fitted_message_costs.hpp"
#include "validation/fit/rounding.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>

namespace weft {
namespace {

bool same_call(const CostAtSize& a, const CostAtSize& b) {
  return std::tie(a.collective, a.algorithm, a.ranks, a.servers) == std::tie(b.collective, b.algorithm, b.ranks, b.servers) &&
         std::max<std::int64_t>(1, a.size.count) == std::max<std::int64_t>(1, b.size.count);
}

// The factor with which a logarithm of times comes to what is wanted, when this one made it come to `reached` from 0: as much more or
// less as is missing, by a straight line. It stays where it moved nothing.
double nearer(double factor, double wanted, double reached) {
  constexpr double max_at_once = 4;
  constexpr double moved = 0.01;  // of what is wanted
  if (std::abs(reached) <= moved * std::abs(wanted) || factor == 1) return factor;
  const double share = std::clamp(wanted / reached, 1 / max_at_once, max_at_once);
  return std::clamp(std::exp(std::log(factor) * (reached * wanted > 0 ? share : max_at_once)), least_factor, most_factor);
}

// A call of a size that was not measured, near sizes of a series that were, and between which times it is expected. Sizes above `above` are
// no affair of it.
struct Expected {
  FitPoint point;
  Bytes above;
  double least_us = 0, most_us = 0;
  std::string but_of = {};  // nothing is expected of what runs like this
};

// What two sizes of a series take for each byte, and whether it is about the same: then the links are what limits both.
struct EachByte {
  double least_us, most_us;
  bool is_alike() const {
    constexpr double alike = 1.2;
    return most_us <= alike * least_us;
  }
};

// By point, the algorithm that runs, of NCCL with its protocol.
std::vector<std::string> as_run(Objective& objective, const std::vector<double>& values) {
  std::vector<std::string> out;
  for (const CostAtSize& call : objective.calls(values)) out.push_back(call.algorithm);
  return out;
}

// At every power of two between the sizes of the points, and at twice the largest one, for each series by itself. By point: `us`,
// simulated, and `runs`, as above. Where another algorithm is run from some size on, times may jump: but of NCCL that size is not known,
// only expected; so they may where a smaller size takes longer than a larger one, of the same algorithm in other pieces. So beyond the
// sizes that were measured NCCL alone is expected to go on, where it is to change.
std::vector<Expected> expected(const std::vector<const FitPoint*>& points, const std::vector<double>& us,
                               const std::vector<std::string>& runs) {
  std::map<std::string, std::map<std::int64_t, std::size_t>> by_series;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const MeasuredSetup& e = points[i]->setup;
    by_series[fmt::format("{} {} {} {} {} {} {}", e.collective, label(e.algorithm), e.ranks, e.nodes, e.of_each_node, e.from, e.to)]
        .try_emplace(e.size.count, i);
  }
  std::vector<Expected> out;
  const auto add = [&](std::size_t near, std::int64_t size, std::int64_t above, double least_us, double most_us) {
    out.push_back({*points[near], Bytes{above}, least_us, most_us});
    out.back().point.setup.size = Bytes{size};
    out.back().point.measured.size_bytes = size;
  };
  using Size = std::map<std::int64_t, std::size_t>::const_iterator;
  const auto each_byte = [&](Size a, Size b) {
    const auto [least, most] = std::minmax({us[a->second] / static_cast<double>(a->first), us[b->second] / static_cast<double>(b->first)});
    return EachByte{least, most};
  };
  for (const auto& [series, sizes] : by_series) {
    const bool is_nccl = points[sizes.begin()->second]->setup.algorithm.name == "nccl";
    for (auto below = sizes.begin(); std::next(below) != sizes.end(); ++below) {
      const auto above = std::next(below);
      const bool falls = us[below->second] > us[above->second];  // it runs otherwise, though under the same name
      if (!is_nccl && (falls || runs[below->second] != runs[above->second])) continue;
      const auto [least, most] = std::minmax(us[below->second], us[above->second]);
      const EachByte a_byte = each_byte(below, above);
      for (std::int64_t size = 2 * below->first; size > 0 && size < above->first; size *= 2) {
        const auto bytes = static_cast<double>(size);
        if (a_byte.is_alike())
          add(below->second, size, above->first, std::max(least, a_byte.least_us * bytes), std::min(most, a_byte.most_us * bytes));
        else
          add(below->second, size, above->first, least, most);
      }
    }
    const auto largest = std::prev(sizes.end());
    const auto after_quarter = sizes.upper_bound(largest->first / 4);
    if (!is_nccl || after_quarter == sizes.begin()) continue;
    if (const EachByte a_byte = each_byte(std::prev(after_quarter), largest); a_byte.is_alike()) {
      const std::int64_t size = 2 * largest->first;
      add(largest->second, size, size, a_byte.least_us * static_cast<double>(size), a_byte.most_us * static_cast<double>(size));
      out.back().but_of = runs[largest->second];
    }
  }
  return out;
}

// The factor of a call, which is among the costs from now on. So are those of half and twice its size, but of none larger than `above`:
// as they are `before`, so that what becomes of it is no affair of theirs.
double& factor_of(const CostAtSize& call, Bytes above, const CostsBySize& before, std::vector<CostAtSize>& costs) {
  const auto known = [&](Bytes size) {
    CostAtSize of_size = call;
    of_size.size = size;
    const auto at = std::ranges::find_if(costs, [&](const CostAtSize& cost) { return same_call(cost, of_size); });
    if (at != costs.end()) return at;
    of_size.factor = before.factor({call.collective, call.algorithm, call.ranks, size, call.servers});
    return costs.insert(costs.end(), of_size);
  };
  known(Bytes{call.size.count / 2});
  known(Bytes{std::min(2 * call.size.count, above.count)});
  return known(call.size)->factor;
}

// Between two sizes a call takes no less than at the smaller one and no more than at the larger, and where the links are what limits both,
// which then take about as long for each byte, it does so, too, and so does one twice as large as the largest: whatever NCCL is expected to
// choose there, and wherever a fitted threshold lies. Where it would not, there are factors that hold it.
void hold(Objective& objective, const std::vector<double>& values, std::vector<CostAtSize>& costs) {
  constexpr double outside = 1.02;
  constexpr int rounds = 3;
  std::vector<Expected> all = expected(objective.points(), objective.simulated(values, costs), as_run(objective, values));
  for (int round = 0; round < rounds && !all.empty(); ++round) {
    std::vector<const FitPoint*> points;
    for (const Expected& e : all) points.push_back(&e.point);
    Objective there = objective.on(std::move(points));
    const std::vector<double> us = there.simulated(values, costs);
    const std::vector<CostAtSize> calls = there.calls(values);
    const CostsBySize before = costs;
    const std::vector<std::string> runs = as_run(there, values);
    std::vector<Expected> held;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double wanted = std::clamp(us[i], all[i].least_us, all[i].most_us);
      if (runs[i] == all[i].but_of || std::max(us[i], wanted) <= outside * std::min(us[i], wanted)) continue;
      double& factor = factor_of(calls[i], all[i].above, before, costs);
      factor = std::clamp(factor * wanted / us[i], least_factor, most_factor);
      held.push_back(std::move(all[i]));
    }
    all = std::move(held);
  }
}

// Of calls that took no longer than their launches is known what they take at most: they count where the others' factors make it more.
std::vector<CostAtSize> smoothed_within(std::vector<LeftOver> left_over, std::vector<LeftOver> at_most) {
  for (;;) {
    std::vector<CostAtSize> out = smoothed(left_over);
    const CostsBySize known = out;
    const auto beyond = std::stable_partition(at_most.begin(), at_most.end(), [&](const LeftOver& l) {
      const double factor = known.factor({l.call.collective, l.call.algorithm, l.call.ranks, l.call.size, l.call.servers});
      return std::log(factor) <= l.log_ratio + repeatability;
    });
    if (beyond == at_most.end()) return out;
    left_over.insert(left_over.end(), beyond, at_most.end());
    at_most.erase(beyond, at_most.end());
  }
}

}  // namespace

bool is_at_bound(const CostAtSize& cost) {
  const auto [least, most] = cost.collective == name_of_message_costs ? message_cost_bounds : std::pair{least_factor, most_factor};
  return cost.factor <= least || cost.factor >= most;
}

std::vector<CostAtSize> sized_costs(Objective& objective, const std::vector<double>& values, bool by_message) {
  const std::vector<CostAtSize> calls = objective.calls(values);
  constexpr double as_long = 1.05;  // as launches, of which calls differ by some percent
  std::vector<LeftOver> left_over, at_most;
  const std::vector<CostAtSize> of_messages = by_message ? message_costs(objective, values) : std::vector<CostAtSize>{};
  const std::vector<double> without = objective.simulated_besides_launches(values, of_messages), launched = objective.launched_us(values);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const FitPoint& point = *objective.points()[i];
    (point.wanted_us() <= as_long * launched[i] ? at_most : left_over).push_back(left_over_of(calls[i], point, without[i]));
  }
  std::vector<CostAtSize> out = smoothed_within(std::move(left_over), std::move(at_most));
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
    const std::vector<double> with = objective.on(std::move(points)).simulated_besides_launches(values, all);
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
  hold(objective, values, out);
  for (CostAtSize& cost : out) cost.factor = four_decimals(cost.factor);
  return out;
}

}  // namespace weft
