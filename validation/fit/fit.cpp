#include "validation/fit/fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include <nlopt.hpp>

namespace weft {
namespace {

using Coordinates = std::vector<double>;

// Errors of a tenth count quadratically, larger ones by their size.
constexpr double knee = 0.1;
double loss(double log_ratio) { return knee * (std::sqrt(1 + (log_ratio / knee) * (log_ratio / knee)) - 1); }

// A parameter is determined when leaving it at its initial value costs more than this in mean loss, of which errors of 5 %
// everywhere make 0.012.
constexpr double indifferent = 0.0005;

// Three digits.
double rounded(double value) {
  if (value == 0) return 0;
  const double unit = std::pow(10.0, std::floor(std::log10(std::abs(value))) - 2);
  return std::round(value / unit) * unit;
}

// Mean loss over some points as a function of the coordinates of some parameters, the others standing still.
class Objective {
 public:
  Objective(const OpenScenario& open, std::vector<const FitPoint*> points)
      : open_(open), points_(std::move(points)), simulator_(open.scenario()) {
    values_.reserve(open.parameters().size());
    double largest = 1;
    for (const FitPoint* p : points_) largest = std::max(largest, static_cast<double>(p->measured.size_bytes));
    for (FitParameter p : open.parameters()) {
      values_.push_back(p.initial);
      // A threshold outside of what was measured makes no difference.
      if (p.unit == HardwareParameter::Unit::bytes) p.low = 16, p.high = 2 * largest;
      parameters_.push_back(p);
    }
  }

  const FitParameter& parameter(std::size_t i) const { return parameters_[i]; }
  std::size_t parameters() const { return values_.size(); }
  const std::vector<FitPoint const*>& points() const { return points_; }
  int evaluations() const { return evaluations_; }

  std::vector<double> simulated(const std::vector<double>& values) {
    if (open_.has_pointers()) {
      std::vector<double> pointers;
      for (std::size_t i = 0; i < values.size(); ++i)
        if (!parameter(i).hardware) pointers.push_back(values[i]);
      if (pointers != pointers_) simulator_ = Simulator(open_.scenario(values)), pointers_ = pointers;
    }
    const HardwareProfile hardware = open_.hardware(values);
    std::vector<double> out;
    for (const FitPoint* point : points_) out.push_back(simulator_.time_us(point->setup, hardware));
    return out;
  }

  double at(const std::vector<double>& values) {
    ++evaluations_;
    const std::vector<double> times = simulated(values);
    double sum = 0;
    for (std::size_t i = 0; i < times.size(); ++i) sum += loss(std::log(std::max(times[i], 1e-6) / points_[i]->measured.time_us));
    return sum / static_cast<double>(std::max<std::size_t>(1, times.size()));
  }

 private:
  const OpenScenario& open_;
  std::vector<const FitPoint*> points_;
  std::vector<FitParameter> parameters_;
  Simulator simulator_;
  std::vector<double> values_;
  std::vector<double> pointers_;
  int evaluations_ = 0;
};

struct Candidate {
  std::vector<double> values;
  double objective = std::numeric_limits<double>::infinity();
};

class Search {
 public:
  Search(Objective& objective, const FitOptions& options) : objective_(objective), options_(options), random_(options.seed) {}

  // From several starts; `free` says which parameters move, the others keep `base`'s values.
  Candidate from_many(const std::vector<double>& base, const std::vector<bool>& free) {
    Candidate best{base, objective_.at(base)};
    if (std::ranges::find(free, true) == free.end()) return best;
    for (int start = 0; start < options_.starts; ++start) {
      Candidate draw = start == 0 ? best : Candidate{};
      keep_better(draw, explore(base, free, start));
      keep_better(best, descend(std::move(draw), free, options_.evaluations));
      if (options_.say) options_.say(fmt::format("start {} of {}: mean loss {:.4f}", start + 1, options_.starts, best.objective));
    }
    best = scan_sizes(std::move(best), free);
    return descend(std::move(best), free, options_.evaluations);
  }

  // Where a threshold makes no difference to the fit it is put in the middle, by ratio, of all that does as well, at a power of two if
  // there is one: no point was asked about the sizes in between, and libraries have thresholds of powers of two.
  void center_sizes(Candidate& best, const std::vector<bool>& free) {
    for (std::size_t i = 0; i < free.size(); ++i) {
      if (!free[i] || objective_.parameter(i).unit != HardwareParameter::Unit::bytes) continue;
      const double low = edge(best, i, 0.98), high = edge(best, i, 1.02);
      const double power = std::exp2(std::round(std::log2(low * high) / 2));
      best.values[i] = power > low && power < high ? power : std::sqrt(low * high);
      best.objective = objective_.at(best.values);
    }
  }

  Candidate descend(Candidate from, const std::vector<bool>& free, int evaluations_each) {
    const auto moving = indices_of(free);
    if (moving.empty()) return from;
    nlopt::opt optimizer(nlopt::LN_SBPLX, static_cast<unsigned>(moving.size()));
    optimizer.set_initial_step(0.05);
    optimizer.set_xtol_abs(1e-4);
    optimizer.set_ftol_abs(1e-6);
    optimizer.set_maxeval(evaluations_each * static_cast<int>(moving.size()));
    Coordinates x;
    for (const std::size_t i : moving) x.push_back(std::clamp(objective_.parameter(i).coordinate(from.values[i]), 0.001, 0.999));
    return run(optimizer, std::move(x), from, moving);
  }

 private:
  static void keep_better(Candidate& best, const Candidate& other) {
    if (other.objective < best.objective) best = other;
  }

  // Controlled random search (Kaelo & Ali 2006) over the whole space, coarsely: it has many valleys.
  Candidate explore(const std::vector<double>& base, const std::vector<bool>& free, int start) {
    nlopt::srand(static_cast<unsigned long>(options_.seed) * 1000 + static_cast<unsigned long>(start));
    const auto moving = indices_of(free);
    nlopt::opt optimizer(nlopt::GN_CRS2_LM, static_cast<unsigned>(moving.size()));
    optimizer.set_maxeval(options_.evaluations * static_cast<int>(moving.size()));
    Coordinates x;
    for (std::size_t k = 0; k < moving.size(); ++k) x.push_back(static_cast<double>(random_() >> 11) * 0x1p-53);
    return run(optimizer, std::move(x), {base}, moving);
  }

  // Lets the optimizer vary the coordinates `moving` of `from`; the best that it met.
  Candidate run(nlopt::opt& optimizer, Coordinates x, const Candidate& from, const std::vector<std::size_t>& moving) {
    optimizer.set_lower_bounds(0.0);
    optimizer.set_upper_bounds(1.0);
    Candidate best = from;
    auto f = [&](const Coordinates& at) {
      Candidate here{from.values};
      for (std::size_t k = 0; k < moving.size(); ++k) here.values[moving[k]] = objective_.parameter(moving[k]).value(at[k]);
      here.objective = objective_.at(here.values);
      keep_better(best, here);
      return here.objective;
    };
    using F = decltype(f);
    optimizer.set_min_objective([](const Coordinates& at, Coordinates&, void* data) { return (*static_cast<F*>(data))(at); }, &f);
    double value = 0;
    try {
      optimizer.optimize(x, value);
    } catch (const nlopt::roundoff_limited&) {  // as good as it gets
    }
    return best;
  }

  static std::vector<std::size_t> indices_of(const std::vector<bool>& free) {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < free.size(); ++i)
      if (free[i]) out.push_back(i);
    return out;
  }

  // How far parameter i can go, by steps of this ratio, without any change.
  double edge(const Candidate& best, std::size_t i, double ratio) {
    Candidate here = best;
    for (int step = 0; step < 400; ++step) {
      here.values[i] *= ratio;
      if (std::abs(objective_.at(here.values) - best.objective) > 1e-9) return here.values[i] / ratio;
    }
    return best.values[i];  // no end: the data says nothing about it
  }

  // The objective jumps where a threshold passes the size of a message, so thresholds are also tried one by one: at the powers of two
  // between the sizes measured, the others adapting a little.
  Candidate scan_sizes(Candidate best, const std::vector<bool>& free) {
    double largest = 1;
    for (const FitPoint* p : objective_.points()) largest = std::max(largest, static_cast<double>(p->measured.size_bytes));
    for (std::size_t i = 0; i < free.size(); ++i) {
      if (!free[i] || objective_.parameter(i).unit != HardwareParameter::Unit::bytes) continue;
      std::vector<bool> others = free;
      others[i] = false;
      const Candidate from = best;
      for (double size = 512; size <= 2 * largest; size *= 2) {
        Candidate tried = from;
        tried.values[i] = size;
        tried.objective = objective_.at(tried.values);
        keep_better(best, descend(std::move(tried), others, std::max(8, options_.evaluations / 8)));
      }
    }
    return best;
  }

  Objective& objective_;
  const FitOptions& options_;
  std::mt19937_64 random_;
};

// Leaves out, one after the other, the parameters that the points do not need: fixed at its initial value, the others
// adapting, nothing is lost.
void drop_undetermined(Search& search, Objective& objective, const FitOptions& options, Candidate& best,
                       std::vector<FittedParameter>& fitted) {
  std::vector<bool> free(fitted.size(), true);
  for (;;) {
    Candidate least;
    std::size_t which = fitted.size();
    for (std::size_t i = 0; i < fitted.size(); ++i) {
      if (!free[i]) continue;
      Candidate without = best;
      without.values[i] = objective.parameter(i).initial;
      without.objective = objective.at(without.values);
      std::vector<bool> others = free;
      others[i] = false;
      without = search.descend(std::move(without), others, options.evaluations / 2);
      fitted[i].objective_without = without.objective - best.objective;
      if (without.objective < least.objective) least = without, which = i;
    }
    if (which == fitted.size() || least.objective > best.objective + indifferent) return;
    free[which] = false;
    fitted[which].determined = false;
    best = least;
    if (options.say) options.say(fmt::format("{} is not determined", objective.parameter(which).name));
  }
}

std::vector<double> relative_errors(const std::vector<double>& simulated, const std::vector<const FitPoint*>& points) {
  std::vector<double> out;
  for (std::size_t i = 0; i < points.size(); ++i) out.push_back(simulated[i] / points[i]->measured.time_us - 1);
  return out;
}

// Every point judged by a fit to the other folds.
ErrorSummary cross_validate(const OpenScenario& open, const std::vector<const FitPoint*>& points, const std::vector<bool>& free,
                            FitOptions options) {
  options.say = {};
  options.starts = 1;
  std::vector<double> errors;
  for (int fold = 0; fold < options.folds; ++fold) {
    std::vector<const FitPoint*> training, tested;
    for (std::size_t i = 0; i < points.size(); ++i) (static_cast<int>(i) % options.folds == fold ? tested : training).push_back(points[i]);
    if (training.empty() || tested.empty()) continue;
    Objective objective(open, training);
    std::vector<double> initial;
    for (const FitParameter& p : open.parameters()) initial.push_back(p.initial);
    Search search(objective, options);
    Candidate best = search.from_many(initial, free);
    search.center_sizes(best, free);
    Objective judge(open, tested);
    const auto judged = relative_errors(judge.simulated(best.values), tested);
    errors.insert(errors.end(), judged.begin(), judged.end());
  }
  return summarise(std::move(errors));
}

}  // namespace

FitResult fit(const OpenScenario& open, const std::vector<FitPoint>& points, const FitOptions& options) {
  std::vector<const FitPoint*> all, training, held_out;
  for (const FitPoint& p : points) {
    all.push_back(&p);
    (p.fitted ? training : held_out).push_back(&p);
  }
  if (training.empty()) throw InputError("there is no measurement to fit to");

  FitResult result;
  std::vector<double> initial;
  for (const FitParameter& p : open.parameters()) {
    initial.push_back(p.initial);
    result.parameters.push_back({p, p.initial});
  }
  Objective objective(open, training);
  Search search(objective, options);
  Candidate best = search.from_many(initial, std::vector<bool>(initial.size(), true));
  drop_undetermined(search, objective, options, best, result.parameters);
  std::vector<bool> free;
  for (const FittedParameter& p : result.parameters) free.push_back(p.determined);
  search.center_sizes(best, free);
  for (std::size_t i = 0; i < initial.size(); ++i) {
    // What is written has three digits: nobody should read more into it.
    if (free[i] && best.values[i] != std::exp2(std::round(std::log2(best.values[i])))) best.values[i] = rounded(best.values[i]);
    result.parameters[i].value = best.values[i];
  }

  Objective judge(open, all);
  result.simulated_us = judge.simulated(best.values);
  std::vector<double> fitted_errors, held_out_errors;
  const auto errors = relative_errors(result.simulated_us, all);
  for (std::size_t i = 0; i < all.size(); ++i) (all[i]->fitted ? fitted_errors : held_out_errors).push_back(errors[i]);
  result.fitted = summarise(std::move(fitted_errors));
  result.held_out = summarise(std::move(held_out_errors));
  result.evaluations = objective.evaluations();
  if (options.folds > 1) result.cross_validated = cross_validate(open, training, free, options);
  return result;
}

}  // namespace weft
