#include "validation/fit/sized_costs.hpp"

#include "kernels/base/statistics.hpp"
#include "models/message_costs.hpp"
#include "validation/fit/fitted_message_costs.hpp"
#include "validation/fit/least_squares.hpp"
#include "validation/fit/rounding.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <numbers>
#include <set>
#include <string>
#include <tuple>

namespace weft {
namespace {

constexpr double min_factor = 0.02, max_factor = 50;
// What is left over at one number of ranks says less and less of others, and nothing of those so far away: on servers that were measured
// at 16 and at 64 ranks (validation/data/pico_mn5_h100_nccl), a third to a half of its logarithm was found again at the other scale.
constexpr int octaves_of_one_scale = 4;

using Measured = std::tuple<std::string, int, int, std::string, std::string>;  // collective, ranks, servers, series, algorithm

std::map<Measured, std::vector<Left>> by_algorithm(const std::vector<LeftOver>& left_over) {
  std::map<Measured, std::vector<Left>> out;
  for (const LeftOver& l : left_over)
    out[{l.call.collective, l.call.ranks, l.call.servers, l.series, l.call.algorithm}].push_back(
        {l.call.algorithm, octave_of(l.call.size), l.log_ratio, l.log_us});
  for (auto& [measured, left] : out) left = by_size(left);
  return out;
}

// All that is left over of a collective on a number of ranks and servers, of algorithms that the library chooses in one series: by rising
// sizes.
struct Family {
  std::string collective;
  int ranks, servers;
  std::set<std::string> names;  // of series and algorithms
  std::vector<Left> left;
};

std::vector<Family> families_of(const std::map<Measured, std::vector<Left>>& all) {
  std::vector<Family> out;
  for (const auto& [measured, left] : all) {
    const auto& [collective, ranks, servers, series, algorithm] = measured;
    Family family{collective, ranks, servers, {"series " + series, algorithm}, left};
    std::erase_if(out, [&](const Family& before) {
      const bool in_common = std::ranges::any_of(before.names, [&](const std::string& name) { return family.names.contains(name); });
      if (std::tie(before.collective, before.ranks, before.servers) != std::tie(family.collective, family.ranks, family.servers) ||
          !in_common)
        return false;
      family.names.insert(before.names.begin(), before.names.end());
      family.left.insert(family.left.end(), before.left.begin(), before.left.end());
      return true;
    });
    out.push_back(std::move(family));
  }
  for (Family& family : out) family.left = by_size(family.left);
  return out;
}

// What one algorithm's factors are by size, beside what is left over of it.
struct Factors {
  CostAtSize call;
  std::vector<double> octave, log_factor;
  std::vector<Left> left;
};

// "nccl_ring_ll", "nccl_ring_ll128" and "nccl_ring_simple" of one of them: which protocol NCCL takes at a size that was not measured, or on
// other ranks, is not known for sure. Of other algorithms their own name.
std::vector<std::string> with_all_protocols(const std::string& algorithm) {
  const std::string pattern = without_protocol(algorithm);
  if (pattern == algorithm) return {algorithm};
  std::vector<std::string> out;
  for (const NcclProtocol protocol : {NcclProtocol::ll, NcclProtocol::ll128, NcclProtocol::simple})
    out.push_back(fmt::format("{}_{}", pattern, name_of(protocol)));
  return out;
}

double covariance(double octaves, bool same_algorithm) {
  return covariance_of_sizes(octaves) * (same_algorithm ? 1 : common_to_algorithms);
}

// K (K + noise I)^-1 r: what a Gaussian process says, for each algorithm of the family at all of its sizes.
std::vector<Factors> smooth(const Family& family, double noise) {
  const std::vector<Left>& left = family.left;
  const std::size_t n = left.size();
  std::vector<std::vector<double>> a(n, std::vector<double>(n));
  std::vector<double> r;
  std::map<std::string, Factors> by_algorithm;
  std::set<double> octaves;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j)
      a[i][j] = covariance(left[i].octave - left[j].octave, left[i].algorithm == left[j].algorithm) + (i == j ? noise : 0);
    r.push_back(left[i].log_ratio);
    octaves.insert(left[i].octave);
    for (const std::string& algorithm : with_all_protocols(left[i].algorithm)) by_algorithm[algorithm];
    by_algorithm[left[i].algorithm].left.push_back(left[i]);
  }
  const std::vector<double> weights = solve(std::move(a), r).value_or(std::vector<double>(n));
  std::vector<Factors> out;
  for (auto& [algorithm, factors] : by_algorithm) {
    factors.call = {family.collective, algorithm, family.ranks, {}, 1, family.servers};
    for (const double octave : octaves) {
      double sum = 0;
      for (std::size_t j = 0; j < n; ++j) sum += covariance(octave - left[j].octave, algorithm == left[j].algorithm) * weights[j];
      factors.octave.push_back(octave);
      factors.log_factor.push_back(sum);
    }
    out.push_back(std::move(factors));
  }
  return out;
}

// Straight lines between the sizes, as CostsBySize has them.
double line_at(const std::vector<double>& x, const std::vector<double>& y, double at) {
  const auto above = static_cast<std::size_t>(std::ranges::lower_bound(x, at) - x.begin());
  if (above == 0) return y.front();
  if (above == x.size()) return y.back();
  return y[above - 1] + (at - x[above - 1]) / (x[above] - x[above - 1]) * (y[above] - y[above - 1]);
}

// The factors of one collective and algorithm on one number of ranks and servers, of NCCL's by protocol.
struct OfRanks {
  std::vector<const Factors*> all = {};

  const Factors& of(const std::string& algorithm) const {
    return **std::ranges::find(all, algorithm, [](const Factors* f) { return f->call.algorithm; });
  }
};
using Scales = std::vector<OfRanks>;  // by rising ranks

std::vector<Scales> scales_of(const std::vector<Factors>& all) {
  std::map<std::pair<std::string, std::string>, std::map<std::pair<int, int>, OfRanks>> out;
  for (const Factors& f : all) {
    auto& by_ranks = out[{f.call.collective, without_protocol(f.call.algorithm)}];
    by_ranks[{f.call.ranks, f.call.servers}].all.push_back(&f);
  }
  std::vector<Scales> lists;
  for (const auto& [key, by_ranks] : out) {
    lists.emplace_back();
    for (const auto& [ranks, scale] : by_ranks) lists.back().push_back(scale);
  }
  return lists;
}

// Those in one server, and those between servers, which know nothing of one another.
std::vector<Scales> apart(const Scales& scales) {
  std::vector<Scales> out;
  for (const bool inside : {true, false}) {
    Scales some;
    std::ranges::copy_if(scales, std::back_inserter(some),
                         [&](const OfRanks& scale) { return (scale.all.front()->call.servers == 1) == inside; });
    if (!some.empty()) out.push_back(std::move(some));
  }
  return out;
}

// Whether the least and the largest number of ranks are predicted better with the factors of the number next to them than without any.
bool hold_beyond(const Scales& scales) {
  std::vector<double> with, without;
  const auto judge = [&](const OfRanks& left_out, const OfRanks& neighbour) {
    for (const Factors* f : left_out.all)
      for (const Left& l : f->left) {
        const Factors& next = neighbour.of(l.algorithm);
        without.push_back(l.log_ratio);
        with.push_back(l.log_ratio - line_at(next.octave, next.log_factor, l.octave));
      }
  };
  judge(scales.front(), scales[1]);
  judge(scales.back(), scales[scales.size() - 2]);
  return robust_loss(with, error_knee) <= robust_loss(without, error_knee);
}

double mean_left(const OfRanks& scale) {
  double sum = 0, count = 0;
  for (const Factors* f : scale.all)
    for (const Left& l : f->left) sum += l.log_ratio, ++count;
  return sum / count;
}

// Calls take longer, or less, than is simulated the more ranks there are, on the most of them by much. The parameters are a compromise
// between the numbers of ranks then, and of more ranks they are no nearer (nccl on 2, 4 and 8 L40S, recursive doubling on LUMI, all-to-alls
// on Fugaku; what is a few percent says nothing of others).
bool grow_with_ranks(const Scales& scales) {
  constexpr double much = 0.3;
  const bool one_way =
      std::ranges::is_sorted(scales, std::less<>(), mean_left) || std::ranges::is_sorted(scales, std::greater<>(), mean_left);
  const double last = mean_left(scales.back()), before = mean_left(scales[scales.size() - 2]);
  return one_way && std::abs(last) > much && (last - before) * last > 0;
}

// As those of calls that take several times as long as the rest.
bool is_large(double log_factor) { return std::abs(log_factor) > 1; }

// How factors go on beyond the least and the largest number of ranks.
enum class Beyond {
  hold,
  fade_soon,   // to none at half and at twice as many
  fade_slowly  // but for those that would make a call faster on more ranks if they went
};

// Fading goes along a straight line of logarithms. Factors that are large where they were measured hold in part: calls that are several
// times as slow as the rest are most often so on that number of ranks alone (broadcasts of 16 MiB and more on 4 servers of
// validation/data/abci2_nccl take 3 to 5 times as long as on 8 and on 2).
void go_on_beyond(const Scales& scales, Beyond on_fewer, Beyond on_more, std::vector<CostAtSize>& out) {
  constexpr double most = std::numbers::e;
  constexpr int fewest = 2;
  const std::size_t measured = out.size();
  const auto octaves_of = [](Beyond how) { return how == Beyond::fade_slowly ? octaves_of_one_scale : 1; };
  const auto add_at = [&](const Factors& f, Beyond how, int ranks) {
    const double share = std::min(1.0, std::abs(std::log2(static_cast<double>(ranks) / f.call.ranks)) / octaves_of(how));
    for (std::size_t i = 0; i < measured; ++i) {
      CostAtSize cost = out[i];
      if (cost.collective != f.call.collective || cost.algorithm != f.call.algorithm || cost.ranks != f.call.ranks ||
          cost.servers != f.call.servers)
        continue;
      const bool stays = how == Beyond::hold || (how == Beyond::fade_slowly && (cost.factor > 1) == (ranks > cost.ranks));
      cost.factor = std::clamp(stays ? cost.factor : std::pow(cost.factor, 1 - share), 1 / most, most);
      cost.ranks = ranks;
      out.push_back(cost);
    }
  };
  const auto go_on = [&](const Factors& f, Beyond how, bool more) {
    const bool any_is_large = std::ranges::any_of(f.log_factor, is_large);
    std::set<int> ranks;
    for (const int by : {any_is_large ? 1 : 0, how == Beyond::hold ? 0 : octaves_of(how)})
      ranks.insert(more ? f.call.ranks << by : std::max(fewest, f.call.ranks >> by));
    ranks.erase(f.call.ranks);
    for (const int r : ranks) add_at(f, how, r);
  };
  for (const Factors* f : scales.front().all) go_on(*f, on_fewer, false);
  for (const Factors* f : scales.back().all) go_on(*f, on_more, true);
}

// A factor that is large at one number of ranks, and at most half as large (by its logarithm) at the next that was measured, is of that
// number alone: already at half or at twice as many ranks it is as at the next. The others stay on the line between the two. Returns
// whether there are some.
bool keep_large_ones_apart(const Factors& f, const Factors& next, std::vector<CostAtSize>& out) {
  const double octaves = std::log2(static_cast<double>(next.call.ranks) / f.call.ranks);
  if (std::abs(octaves) <= 1) return false;
  bool some = false;
  std::vector<CostAtSize> there;
  for (std::size_t i = 0; i < f.octave.size(); ++i) {
    const double of_next = line_at(next.octave, next.log_factor, f.octave[i]);
    const bool is_alone = is_large(f.log_factor[i]) && of_next / f.log_factor[i] < 0.5;
    some |= is_alone;
    there.push_back(f.call);
    there.back().ranks = octaves > 0 ? 2 * f.call.ranks : f.call.ranks / 2;
    there.back().size = Bytes{std::llround(std::exp2(f.octave[i]))};
    const double log_factor = is_alone ? of_next : std::lerp(f.log_factor[i], of_next, 1 / std::abs(octaves));
    there.back().factor = std::clamp(std::exp(log_factor), min_factor, max_factor);
  }
  if (some) out.insert(out.end(), there.begin(), there.end());
  return some;
}

std::vector<CostAtSize> factors_of(const std::vector<Family>& families, double noise) {
  std::vector<CostAtSize> out;
  std::vector<Factors> all;
  for (const Family& family : families)
    for (Factors& f : smooth(family, noise)) all.push_back(std::move(f));
  for (const Factors& f : all)
    for (std::size_t i = 0; i < f.octave.size(); ++i) {
      out.push_back(f.call);
      out.back().size = Bytes{std::llround(std::exp2(f.octave[i]))};
      out.back().factor = std::clamp(std::exp(f.log_factor[i]), min_factor, max_factor);
    }
  for (const Scales& together : scales_of(all)) {
    const bool is_one = together.size() == 1;
    const Beyond how = is_one ? Beyond::fade_slowly : hold_beyond(together) ? Beyond::hold : Beyond::fade_soon;
    const Beyond on_more = !is_one && grow_with_ranks(together) ? Beyond::hold : how;
    for (const Scales& scales : apart(together)) {
      go_on_beyond(scales, how, on_more, out);
      for (std::size_t i = 1; i < scales.size(); ++i)
        for (const Factors* f : scales[i].all) {
          const Factors& before = scales[i - 1].of(f->call.algorithm);
          if (!keep_large_ones_apart(before, *f, out)) keep_large_ones_apart(*f, before, out);
        }
    }
  }
  return out;
}

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
  return std::clamp(std::exp(std::log(factor) * (reached * wanted > 0 ? share : max_at_once)), min_factor, max_factor);
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
      factor = std::clamp(factor * wanted / us[i], min_factor, max_factor);
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

std::vector<CostAtSize> smoothed(const std::vector<LeftOver>& left_over) {
  const std::vector<bool> alone = standing_alone(left_over);
  std::vector<LeftOver> together;
  for (std::size_t i = 0; i < left_over.size(); ++i)
    if (!alone[i]) together.push_back(left_over[i]);
  const std::map<Measured, std::vector<Left>> all = by_algorithm(together);
  std::vector<Family> families = families_of(all);
  std::erase_if(families, [](const Family& f) { return f.left.size() < 2; });  // nothing says that another size would be alike
  std::vector<double> ratios;
  for (const Family& family : families)
    for (const Left& l : family.left) ratios.push_back(l.log_ratio);
  const double variance = variance_left_over(ratios);
  return variance > 0 ? factors_of(families, repeatability * repeatability / variance) : std::vector<CostAtSize>{};
}

bool is_at_bound(const CostAtSize& cost) {
  const auto [least, most] = cost.collective == name_of_message_costs ? message_cost_bounds : std::pair{min_factor, max_factor};
  return cost.factor <= least || cost.factor >= most;
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
