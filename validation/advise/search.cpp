#include "validation/advise/search.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <utility>

namespace weft {
namespace {

constexpr std::size_t max_sizes_of_a_task = 3;  // more cores have something to do, and a cluster is built for several sizes

}  // namespace

void AdviseCurve::add(Bytes size, SimTime time, SimTime busy) {
  points_[size] = {static_cast<double>(time.ps), static_cast<double>(busy.ps)};
}

// Elements that cannot be shared out evenly make small sizes take more for each byte, never less.
double AdviseCurve::busy_ps_per_byte() const {
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [size, point] : points_)
    if (size.count > 0) least = std::min(least, point.busy_ps / static_cast<double>(size.count));
  return points_.size() < 2 ? 0 : least;
}

double AdviseCurve::expected_ps(Bytes size) const {
  if (points_.empty()) return std::numeric_limits<double>::infinity();  // it failed
  const auto above = points_.lower_bound(size);
  if (above == points_.begin()) return above->second.time_ps;
  const auto& [low, at_low] = *std::prev(above);
  const auto more = static_cast<double>((size - low).count);
  if (above == points_.end()) return at_low.time_ps + busy_ps_per_byte() * more;
  return at_low.time_ps + (above->second.time_ps - at_low.time_ps) * more / static_cast<double>((above->first - low).count);
}

double AdviseCurve::at_least_ps(Bytes size) const {
  const auto above = points_.upper_bound(size);
  if (above == points_.begin()) return 0;
  const auto& [low, at_low] = *std::prev(above);
  return at_low.time_ps + busy_ps_per_byte() * static_cast<double>((size - low).count);
}

AdviseSearch::AdviseSearch(std::size_t candidates, std::int64_t element_bytes, Own own, Simulate simulate)
    : curves_(candidates), element_bytes_(element_bytes), own_(std::move(own)), simulate_(std::move(simulate)) {}

void AdviseSearch::run(const std::vector<Bytes>& sizes) {
  const std::size_t every = std::clamp<std::size_t>(sizes.size() / 5, 1, 6);
  std::vector<Bytes> coarse;
  for (std::size_t i = 0; i < sizes.size(); i += every) coarse.push_back(sizes[i]);
  if (coarse.back() != sizes.back()) coarse.push_back(sizes.back());
  const std::size_t for_all = std::min<std::size_t>(2, coarse.size());
  all_at({coarse.begin(), coarse.begin() + static_cast<std::ptrdiff_t>(for_all)}, [](std::size_t) { return true; });
  // NCCL has fewer channels for fewer bytes: what a small call needs of its busiest link says too much of a large one.
  all_at({coarse.back()}, own_);
  for (std::size_t i = for_all; i < coarse.size(); ++i) likely_at(coarse[i]);
  between(sizes);
  refine();
}

void AdviseSearch::all_at(const std::vector<Bytes>& sizes, const Own& counts) {
  std::vector<Wanted> wanted;
  for (std::size_t c = 0; c < curves_.size(); ++c)
    for (const Bytes size : sizes)
      if (counts(c) && !curves_[c].knows(size) && !failures_.contains(c)) wanted.push_back({c, size});
  simulate(wanted);
}

// First those that are expected to be first, which says how late others may be.
void AdviseSearch::likely_at(Bytes size) {
  std::vector<Wanted> wanted;
  want_least(size, wanted);
  simulate(wanted);
  wanted.clear();
  want_near(size, 1.5, wanted);
  simulate(wanted);
}

// First the two that are expected first; that brings the neighbours of each size closer, by which the others are judged. Then
// fewer sizes before more, so that the size before says more of who else can be first.
void AdviseSearch::between(const std::vector<Bytes>& sizes) {
  std::vector<Wanted> wanted;
  for (const Bytes size : sizes)
    if (!times_.contains(size)) want_least(size, wanted);
  simulate(wanted);
  wanted.clear();
  for (const Bytes size : sizes) want_near(size, 1.15, wanted);
  simulate(wanted);
  for (const std::size_t every : {4, 2, 1}) {
    wanted.clear();
    for (std::size_t i = 0; i < sizes.size(); i += every) want_possible(sizes[i], wanted);
    simulate(wanted);
  }
}

// Sizes between two at which others are first, until the crossing is known to a twentieth.
void AdviseSearch::refine() {
  constexpr double known = 1.05;
  const std::array<Own, 2> all_and_own = {[](std::size_t) { return true; }, own_};
  for (int round = 0; round < 10; ++round) {
    std::set<Bytes> middles;
    for (const Own& counts : all_and_own) {
      const auto ranges = advised_ranges(times_, counts);
      for (std::size_t i = 0; i + 1 < ranges.size(); ++i) {
        const auto above = times_.upper_bound(ranges[i].to);
        if (above == times_.end() || above == times_.begin()) continue;
        const Bytes low = std::prev(above)->first, high = above->first;
        const Bytes middle{ranges[i].to.count / element_bytes_ * element_bytes_};
        if (static_cast<double>(high.count) > known * static_cast<double>(low.count) && middle > low && middle < high)
          middles.insert(middle);
      }
    }
    std::vector<Wanted> wanted;
    for (const Bytes size : middles) want_least(size, wanted);
    if (wanted.empty()) return;
    simulate(wanted);
    wanted.clear();
    for (const Bytes size : middles) want_possible(size, wanted);
    simulate(wanted);
  }
}

void AdviseSearch::simulate(std::vector<Wanted> wanted) {
  std::ranges::stable_sort(wanted, {}, &Wanted::candidate);
  std::vector<AdviseTask> tasks;
  for (const auto& [candidate, size] : wanted) {
    if (tasks.empty() || tasks.back().candidate != candidate || tasks.back().sizes.size() == max_sizes_of_a_task)
      tasks.push_back({candidate, {}});
    tasks.back().sizes.push_back(size);
  }
  // Large sizes take longest: begun last, one of them would keep a core busy alone.
  std::ranges::stable_sort(tasks, [](const AdviseTask& a, const AdviseTask& b) { return a.sizes.back() > b.sizes.back(); });
  for (const AdviseOutcome& outcome : simulate_(tasks)) {
    if (!outcome.failure.empty()) {
      failures_.emplace(outcome.candidate, outcome.failure);
      continue;
    }
    times_[outcome.size][outcome.candidate] = outcome.time;
    curves_[outcome.candidate].add(outcome.size, outcome.time, outcome.busy);
    ++points_;
  }
}

double AdviseSearch::min_ps(Bytes size, bool only_own) const {
  const auto infinite = std::numeric_limits<double>::infinity();
  double known = infinite, expected = infinite;
  for (std::size_t c = 0; c < curves_.size(); ++c) {
    if (only_own && !own_(c)) continue;
    const double here = curves_[c].expected_ps(size);
    expected = std::min(expected, here);
    if (curves_[c].knows(size)) known = std::min(known, here);
  }
  return known < infinite ? known : expected;
}

void AdviseSearch::want_near(Bytes size, double near, std::vector<Wanted>& wanted) const {
  const double least = min_ps(size, false), min_own = min_ps(size, true);
  for (std::size_t c = 0; c < curves_.size(); ++c) {
    if (curves_[c].empty() || curves_[c].knows(size) || failures_.contains(c)) continue;
    const double expected = curves_[c].expected_ps(size);
    if (expected <= near * least || (own_(c) && expected <= near * min_own)) wanted.push_back({c, size});
  }
}

void AdviseSearch::want_possible(Bytes size, std::vector<Wanted>& wanted) const {
  constexpr double falls = 0.99;  // a larger message may take a little less, as where it has more channels
  const double least = min_ps(size, false), min_own = min_ps(size, true);
  for (std::size_t c = 0; c < curves_.size(); ++c) {
    if (curves_[c].empty() || curves_[c].knows(size) || failures_.contains(c)) continue;
    if (falls * curves_[c].at_least_ps(size) < (own_(c) ? std::max(least, min_own) : least)) wanted.push_back({c, size});
  }
}

void AdviseSearch::want_least(Bytes size, std::vector<Wanted>& wanted) const {
  for (const bool only_own : {false, true}) {
    std::vector<std::pair<double, std::size_t>> expected;
    for (std::size_t c = 0; c < curves_.size(); ++c)
      if (!curves_[c].empty() && !failures_.contains(c) && (!only_own || own_(c))) expected.emplace_back(curves_[c].expected_ps(size), c);
    std::ranges::sort(expected);
    for (std::size_t i = 0; i < std::min<std::size_t>(2, expected.size()); ++i) {
      const std::size_t c = expected[i].second;
      const bool has = std::ranges::any_of(wanted, [&](const Wanted& w) { return w.candidate == c && w.size == size; });
      if (!curves_[c].knows(size) && !has) wanted.push_back({c, size});
    }
  }
}

}  // namespace weft
