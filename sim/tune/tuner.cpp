#include "sim/tune/tuner.hpp"

#include "kernels/base/nearest_name.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weft {
namespace {

const Space& sound(const Space& space, const TunerSettings& settings) {
  std::vector<std::string> lines;
  for (const Problem& p : problems(settings)) lines.push_back(fmt::format("tune: {}: {}", p.where, p.what));
  if (!lines.empty()) throw InputError(lines);
  return space;
}

}  // namespace

double CreditBandit::area(std::size_t technique) const {
  double area = 0, height = 0, uses = 0;
  for (const Use& u : uses_) {
    if (u.technique != technique) continue;
    height += u.new_best ? 1 : 0;
    area += height;
    ++uses;
  }
  return uses > 0 ? area / (uses * (uses + 1) / 2) : 0;
}

std::vector<std::size_t> CreditBandit::order(std::span<const int> under_way) const {
  std::vector<double> score(techniques_);
  const double length = static_cast<double>(uses_.size()) + std::accumulate(under_way.begin(), under_way.end(), 0);
  for (std::size_t t = 0; t < techniques_; ++t) {
    const double uses = under_way[t] + static_cast<double>(std::ranges::count(uses_, t, &Use::technique));
    score[t] = uses > 0 ? area(t) + exploration_ * std::sqrt(2 * std::log(length) / uses) : INFINITY;
  }
  std::vector<std::size_t> order(techniques_);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return score[a] > score[b]; });
  return order;
}

void CreditBandit::record(std::size_t technique, bool new_best) {
  uses_.push_back({technique, new_best});
  if (uses_.size() > window_) uses_.pop_front();
}

std::vector<std::string> tuning_methods() { return {"ensemble", "grid", "population", "bayesian", "hyperband"}; }

std::vector<Problem> problems(const TunerSettings& settings) {
  std::vector<Problem> found;
  const auto methods = tuning_methods();
  if (std::ranges::find(methods, settings.method) == methods.end()) {
    const auto nearest = nearest_name(settings.method, methods);
    found.push_back({"method", fmt::format("must be one of {}, got \"{}\"{}", fmt::join(methods, ", "), settings.method,
                                           nearest ? fmt::format(" (did you mean \"{}\"?)", *nearest) : "")});
  }
  if (settings.window < 1) found.push_back({"window", "must be at least 1, got 0"});
  if (!(settings.exploration >= 0)) found.push_back({"exploration", fmt::format("must not be negative, got {}", settings.exploration)});
  if (!(settings.min_fidelity > 0 && settings.min_fidelity <= 1))
    found.push_back({"least_fidelity", fmt::format("must be more than 0 and at most 1, got {}", settings.min_fidelity)});
  return found;
}

Tuner::Tuner(Space space, const TunerSettings& settings)
    : space_(sound(space, settings)), settings_(settings), bandit_(0, settings.window, settings.exploration) {
  TuneRandom seeds(settings.seed);
  const auto wants = [&](std::string_view method) { return settings.method == "ensemble" || settings.method == method; };
  const std::uint64_t grid = seeds.next(), population = seeds.next(), bayesian = seeds.next(), band = seeds.next();
  if (wants("grid")) techniques_.push_back(grid_search(space_, grid));
  if (wants("population")) techniques_.push_back(population_based_training(space_, population));
  if (wants("bayesian")) techniques_.push_back(bayesian_optimisation(space_, bayesian));
  if (wants("hyperband")) techniques_.push_back(hyperband(space_, band, settings.min_fidelity));
  bandit_ = CreditBandit(techniques_.size(), settings.window, settings.exploration);
}

std::vector<Trial> Tuner::ask(int n) {
  std::vector<Trial> trials;
  while (static_cast<int>(trials.size()) < n) {
    std::vector<int> under_way(techniques_.size());
    for (const auto& [id, open] : open_) ++under_way[open.technique];
    std::optional<Proposal> proposal;
    for (const std::size_t t : bandit_.order(under_way)) {
      proposal = techniques_[t]->propose(history_);
      if (!proposal) continue;
      if (proposal->fidelity >= 1) history_.ask(proposal->point);
      trials.push_back({next_, proposal->point, proposal->fidelity, std::string(techniques_[t]->name())});
      open_.emplace(next_++, Open{t, std::move(*proposal)});
      break;
    }
    if (!proposal) break;
  }
  return trials;
}

void Tuner::tell(int trial, double cost) {
  const auto at = open_.find(trial);
  check(at != open_.end(), "trial {} is not under way", trial);
  if (std::isnan(cost)) cost = INFINITY;
  const Open open = std::move(at->second);
  open_.erase(at);
  const bool full = open.proposal.fidelity >= 1;
  const bool new_best = full && std::isfinite(cost) && (!history_.best() || cost < *history_.best()->cost);
  if (full) history_.tell(open.proposal.point, cost);
  techniques_[open.technique]->observe(open.proposal, cost);
  bandit_.record(open.technique, new_best);
}

TuneResult minimise(Tuner& tuner, const TuneBudget& budget, const std::function<std::vector<double>(std::span<const Trial>)>& evaluate) {
  if (budget.evaluations < 1) throw InputError(fmt::format("tune: budget: must be at least 1, got {}", budget.evaluations));
  if (budget.batch < 1) throw InputError(fmt::format("tune: batch: must be at least 1, got {}", budget.batch));
  TuneResult result;
  for (int left = budget.evaluations; left > 0;) {
    const std::vector<Trial> trials = tuner.ask(std::min(left, budget.batch));
    if (trials.empty()) break;
    const std::vector<double> costs = evaluate(trials);
    check(costs.size() == trials.size(), "{} costs for {} trials", costs.size(), trials.size());
    for (std::size_t i = 0; i < trials.size(); ++i) {
      tuner.tell(trials[i].id, costs[i]);
      result.evaluations.push_back({trials[i], costs[i]});
    }
    left -= static_cast<int>(trials.size());
  }
  if (!tuner.best()) throw RunError(fmt::format("tune: none of {} evaluations succeeded", result.evaluations.size()));
  result.best = tuner.best()->point;
  result.cost = *tuner.best()->cost;
  return result;
}

}  // namespace weft
