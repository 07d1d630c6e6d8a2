#include "models/message_costs.hpp"
#include "validation/fit/least_squares.hpp"
#include "validation/fit/sized_costs.hpp"

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
    there.back().factor = std::clamp(std::exp(log_factor), least_factor, most_factor);
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
      out.back().factor = std::clamp(std::exp(f.log_factor[i]), least_factor, most_factor);
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

double covariance_of_sizes(double octaves) {
  constexpr double correlated = 6;  // sizes so far apart share 1/e of what is left over
  return std::exp(-std::abs(octaves) / correlated);
}

double variance_left_over(const std::vector<double>& log_ratios) {
  double squares = 0;
  for (const double r : log_ratios) squares += r * r;
  return log_ratios.empty() ? 0 : std::max(0.0, squares / static_cast<double>(log_ratios.size()) - repeatability * repeatability);
}

}  // namespace weft
