#include "validation/fit/search.hpp"

#include "validation/fit/call_overhead.hpp"
#include "validation/fit/least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace weft {
namespace {

using Unit = HardwareParameter::Unit;

void keep_better(Candidate& best, Candidate other) {
  if (other.loss < best.loss) best = std::move(other);
}

Candidate at(Objective& objective, std::vector<double> values) {
  const double loss = objective.loss(values);
  return {std::move(values), loss};
}

bool is_threshold(const Objective& objective, std::size_t i) { return objective.parameters()[i].is_threshold(); }

bool is_process_launch(const FitParameter& p) { return p.hardware && p.name == "process_launch"; }

// Calls of one process come no faster than its launches. A search that begins below sees no slope, so it begins at the most that the
// shortest of them allows.
std::vector<double> with_launches(const Objective& objective, std::vector<double> base, const Moving& moving) {
  for (std::size_t i = 0; i < base.size(); ++i) {
    if (!moving[i] || !is_process_launch(objective.parameters()[i])) continue;
    if (const double most_us = max_launch_us(objective.points()); std::isfinite(most_us)) base[i] = 1e6 * most_us;
  }
  return base;
}

}  // namespace

Search::Search(Objective& objective) : objective_(objective), cheap_(objective.on(objective.cheapest(0.2, 16))) {}

void Search::allow(std::int64_t work) {
  allowed_ = work;
  begin_ = objective_.work();
}

bool Search::enough(double share) const { return static_cast<double>(objective_.work() - begin_) >= share * static_cast<double>(allowed_); }

Candidate Search::start(const std::vector<double>& initial, const Moving& moving, std::uint64_t seed, int number) {
  const std::vector<double> base = with_launches(objective_, initial, moving);
  std::mt19937_64 random(seed * 1'000'003 + static_cast<std::uint64_t>(number));
  constexpr int draws = 24, kept = 3;
  std::vector<Candidate> drawn;
  share_ = 0.2;
  for (int i = 0; i < draws && (i < kept || !enough(share_)); ++i) drawn.push_back(at(cheap_, draw(base, moving, random)));
  std::ranges::stable_sort(drawn, {}, &Candidate::loss);
  share_ = 0.35;
  Candidate best;
  if (number == 0) best = descend_on(cheap_, at(cheap_, base), moving, 12);
  for (int i = 0; i < kept; ++i) keep_better(best, descend_on(cheap_, drawn[static_cast<std::size_t>(i)], moving, 12));
  share_ = 0.5;
  best = scan_on(cheap_, with_fewer_protocols(cheap_, std::move(best), moving), moving);
  share_ = 1;
  best = descend({best.values, objective_.loss(best.values)}, moving, 12);
  return descend(scan(std::move(best), moving), moving, 12);
}

// Overheads up to the shortest time measured, rates from the fastest transfer measured to a hundred times it: on a logarithmic scale.
std::vector<double> Search::draw(const std::vector<double>& base, const Moving& moving, std::mt19937_64& random) const {
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  std::vector<double> out = base;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double u = uniform();  // also for those that stand still, so that the others' draws do not depend on them
    const FitParameter& p = objective_.parameters()[i];
    if (!moving[i] || is_process_launch(p)) continue;
    double coordinate = 0;
    switch (p.unit) {
      case Unit::picoseconds:
        coordinate = objective_.shortest_us() * std::pow(10.0, -3 * u);
        break;
      case Unit::bits_per_second:
        coordinate = objective_.fastest_ns_per_byte() * std::pow(10.0, 0.3 - 2 * u);
        break;
      case Unit::fraction:
        coordinate = p.lowest() * std::pow(3.0, u);
        break;
      case Unit::bytes:
        coordinate = p.lowest() + u * (p.highest() - p.lowest());
        break;
      case Unit::factor:  // from half to double what is published
        coordinate = std::clamp(p.coordinate(base[i]) + 2 * u - 1, p.lowest(), p.highest());
        break;
      case Unit::count:
        coordinate = p.lowest() + u * (p.highest() - p.lowest());
        break;
      case Unit::bias:  // every second one as it is
        coordinate = random() % 2 == 0 ? p.coordinate(base[i]) : p.lowest() + u * (p.highest() - p.lowest());
        break;
    }
    out[i] = p.value(coordinate);
  }
  return out;
}

Candidate Search::descend_on(Objective& objective, const Candidate& from, const Moving& moving, int rounds) const {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < moving.size(); ++i)
    if (moving[i] && objective.parameters()[i].changes_smoothly()) open.push_back(i);
  if (open.empty()) return from;
  LeastSquares problem{.residuals = {}, .low = {}, .high = {}, .step = {}};
  std::vector<double> start;
  for (const std::size_t i : open) {
    const FitParameter& p = objective.parameters()[i];
    problem.low.push_back(p.lowest());
    problem.high.push_back(p.highest());
    problem.step.push_back(p.unit == Unit::picoseconds       ? 1e-3 * objective.shortest_us()
                           : p.unit == Unit::bits_per_second ? 1e-3 * objective.fastest_ns_per_byte() + 1e-9
                                                             : 1e-3);
    start.push_back(p.coordinate(from.values[i]));
  }
  const auto values_at = [&](const std::vector<double>& x) {
    std::vector<double> values = from.values;
    for (std::size_t k = 0; k < open.size(); ++k) values[open[k]] = objective.parameters()[open[k]].value(x[k]);
    return values;
  };
  problem.residuals = [&](const std::vector<double>& x) { return objective.errors(values_at(x)); };
  problem.knee = error_knee;
  problem.enough = [this] { return enough(share_); };
  problem.evaluations = rounds * (static_cast<int>(open.size()) + 4);
  const LeastSquaresResult found = minimise(problem, std::move(start));
  return found.loss < from.loss ? Candidate{values_at(found.x), found.loss} : from;
}

Candidate Search::descend(const Candidate& from, const Moving& moving, int rounds) { return descend_on(objective_, from, moving, rounds); }

Candidate Search::scan(Candidate best, const Moving& moving) { return scan_on(objective_, std::move(best), moving); }

// Networks and versions of NCCL differ in the protocols that they allow, and one that is not allowed is not seen by leaving out the
// others one by one.
Candidate Search::with_fewer_protocols(Objective& objective, Candidate best, const Moving& moving) const {
  std::vector<std::size_t> protocols;
  for (std::size_t i = 0; i < moving.size(); ++i)
    if (moving[i] && (objective.parameters()[i].name == "ll_bias" || objective.parameters()[i].name == "ll128_bias"))
      protocols.push_back(i);
  std::vector<Candidate> tried;  // the likeliest first, while there is something left to spend
  for (unsigned without = 1; without < 1U << protocols.size(); ++without) {
    std::vector<double> values = best.values;
    for (std::size_t k = 0; k < protocols.size(); ++k)
      if ((without >> k & 1U) != 0) values[protocols[k]] = objective.parameters()[protocols[k]].low;
    tried.push_back(at(objective, std::move(values)));
  }
  std::ranges::stable_sort(tried, {}, &Candidate::loss);
  for (const Candidate& other : tried)
    if (!enough(share_)) keep_better(best, descend_on(objective, other, moving, 6));
  return best;
}

// Where a threshold is tried while nothing costs anything beyond it, something has to: handshakes, what they were measured to.
void give_cost(const Objective& objective, std::size_t threshold, const Moving& moving, std::vector<double>& values) {
  constexpr double usual_handshake = 8e6;
  if (objective.parameters()[threshold].name != "rendezvous_threshold") return;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const FitParameter& p = objective.parameters()[i];
    if (moving[i] && p.name == "rendezvous" && values[i] <= 1.001 * p.low) values[i] = usual_handshake;
  }
}

// With the i-th at every power of two between the sizes measured, a bias in finer steps: the one that fits best first.
std::vector<Candidate> Search::with_threshold(Objective& objective, const Candidate& best, std::size_t i, const Moving& moving) const {
  const FitParameter& p = objective.parameters()[i];
  const double ratio = p.unit == Unit::bias ? std::exp2(0.25) : 2;
  std::vector<Candidate> out;
  for (double size = std::exp2(std::ceil(std::log2(p.low))); size <= p.high && !enough(share_); size *= ratio) {
    std::vector<double> values = best.values;
    values[i] = size;
    give_cost(objective, i, moving, values);
    out.push_back(at(objective, std::move(values)));
  }
  std::ranges::stable_sort(out, {}, &Candidate::loss);
  return out;
}

// The others adapt a little where it looks as if it could help.
Candidate Search::scan_on(Objective& objective, Candidate best, const Moving& moving) const {
  for (std::size_t i = 0; i < moving.size() && !enough(share_); ++i) {
    if (!moving[i] || !is_threshold(objective, i)) continue;
    const Candidate from = best;
    const std::vector<Candidate> tried = with_threshold(objective, from, i, moving);
    constexpr std::size_t adapted = 8;  // the others of these move with it
    for (std::size_t k = 0; k < tried.size(); ++k) {
      keep_better(best, tried[k]);
      if (k < adapted && !enough(share_) && tried[k].loss != from.loss) keep_better(best, descend_on(objective, tried[k], moving, 2));
    }
  }
  return best;
}

std::vector<Candidate> Search::other_choices(const Candidate& best, std::size_t most) const {
  std::vector<Candidate> all;
  for (std::size_t i = 0; i < best.values.size(); ++i) {
    if (objective_.parameters()[i].unit != Unit::bias) continue;
    const std::vector<Candidate> tried = with_threshold(objective_, best, i, Moving(best.values.size(), false));
    all.insert(all.end(), tried.begin(), tried.end());
  }
  std::ranges::stable_sort(all, {}, &Candidate::loss);
  std::vector<Candidate> out;
  std::set<std::vector<double>> known = {objective_.simulated(best.values)};
  for (std::size_t k = 0; k < all.size() && out.size() < most; ++k)
    if (known.insert(objective_.simulated(all[k].values)).second) out.push_back(all[k]);
  return out;
}

// How far parameter i can go, by steps of this ratio, without any change.
double Search::edge(const Candidate& best, std::size_t i, double ratio) {
  Candidate here = best;
  constexpr int max_steps = 64;
  for (int step = 0; step < max_steps; ++step) {
    here.values[i] *= ratio;
    if (std::abs(objective_.loss(here.values) - best.loss) > 1e-9) return here.values[i] / ratio;
  }
  return best.values[i];  // no end: the data says nothing about it
}

void Search::center_sizes(Candidate& best, const Moving& moving) {
  const auto works = objective_.work_of_points();
  const std::int64_t each = std::max<std::int64_t>(1, std::accumulate(works.begin(), works.end(), std::int64_t{0}));
  const double ratio = allowed_ / each > 2000 ? 1.04 : 1.2;
  for (std::size_t i = 0; i < moving.size(); ++i) {
    if (!moving[i] || !is_threshold(objective_, i) || enough()) continue;
    const double low = edge(best, i, 1 / ratio), high = edge(best, i, ratio);
    const double power = std::exp2(std::round(std::log2(low * high) / 2));
    best.values[i] = power > low && power < high ? power : std::sqrt(low * high);
    best.loss = objective_.loss(best.values);
  }
}

}  // namespace weft
